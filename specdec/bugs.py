"""Programs with a real bug in them, shown in the lessons for the learner to expose."""


def verify_shifted(draft, target_next):
    emitted = []
    for i in range(len(draft)):
        if i > 0 and draft[i] != target_next[i]:
            emitted.append(target_next[i])
            return emitted
        emitted.append(draft[i])
    emitted.append(target_next[len(draft)])
    return emitted
