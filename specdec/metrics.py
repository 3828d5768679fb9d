"""A metric with a real bug in it, shown in lesson 5 for the learner to expose."""


def acceptance_rate_by_output(accepted, drafted):
    emitted = sum(accepted) + len(accepted)
    return emitted / sum(drafted)
