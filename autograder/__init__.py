"""autograder: the instructor's side of the course. It may import `specdec`, never the reverse."""
