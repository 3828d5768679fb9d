"""The reading site: the worked solutions as static pages, which work without a server."""
