"""The worked functions of each lesson, one module a lesson. Nothing else holds them."""
