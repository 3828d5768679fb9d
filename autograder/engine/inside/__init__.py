"""The part of the engine that the sandbox can see: wire format, student session, warm process.

Nothing here may hold or reach a test. The trusted side imports `wire` and `peer` from here too.
"""
