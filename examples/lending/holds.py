"""Who waits for which title."""

from collections import defaultdict, deque

from members import Member


class HoldQueue:
    def __init__(self) -> None:
        self.waiting: dict[str, deque[Member]] = defaultdict(deque)

    def join_queue(self, title: str, member: Member) -> None:
        if member not in self.waiting[title]:
            self.waiting[title].append(member)

    def next_reader(self, title: str) -> Member | None:
        queue = self.waiting[title]
        return queue.popleft() if queue else None

    def queue_length(self, title: str) -> int:
        return len(self.waiting[title])
