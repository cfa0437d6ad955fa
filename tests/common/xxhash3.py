"""XXH3 of 64 bits without a seed, in whole numbers of any size."""

from __future__ import annotations

BITS = (1 << 64) - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SMALL1, SMALL2, SMALL3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def word(data: bytes, at: int, size: int = 8) -> int:
    """The number at a place, its lowest byte first."""
    return int.from_bytes(data[at : at + size], "little")


def fold(a: int, b: int) -> int:
    """Both halves of a product of 128 bits."""
    return (a * b & BITS) ^ (a * b >> 64)


def avalanche(h: int) -> int:
    """Let every bit depend on all."""
    h = (h ^ h >> 37) * 0x165667919E3779F9 & BITS
    return h ^ h >> 32


def mix(data: bytes, at: int, secret: int) -> int:
    """The hash of 16 bytes."""
    return fold(
        word(data, at) ^ word(SECRET, secret), word(data, at + 8) ^ word(SECRET, secret + 8)
    )


def xxhash3(data: bytes) -> int:
    """The hash of bytes."""
    n = len(data)
    if n <= 3:
        h = word(SECRET, 56) ^ word(SECRET, 64)
        if n > 0:
            h = data[0] << 16 | data[n // 2] << 24 | data[-1] | n << 8
            h ^= word(SECRET, 0, 4) ^ word(SECRET, 4, 4)
        h = (h ^ h >> 33) * P2 & BITS
        h = (h ^ h >> 29) * P3 & BITS
        return h ^ h >> 32
    if n <= 8:
        h = word(data, 0, 4) << 32 | word(data, n - 4, 4)
        h ^= word(SECRET, 8) ^ word(SECRET, 16)
        h ^= (h << 49 | h >> 15) & BITS ^ (h << 24 | h >> 40) & BITS
        h = h * 0x9FB21C651E98DF25 & BITS
        h = (h ^ (h >> 35) + n) * 0x9FB21C651E98DF25 & BITS
        return h ^ h >> 28
    if n <= 16:
        low = word(data, 0) ^ word(SECRET, 24) ^ word(SECRET, 32)
        high = word(data, n - 8) ^ word(SECRET, 40) ^ word(SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(n + swapped + high + fold(low, high) & BITS)
    total = n * P1
    if n <= 128:
        for i in range((n - 1) // 32 + 1):
            total += mix(data, 16 * i, 32 * i) + mix(data, n - 16 * (i + 1), 32 * i + 16)
        return avalanche(total & BITS)
    if n <= 240:
        total = avalanche(total + sum(mix(data, 16 * i, 16 * i) for i in range(8)) & BITS)
        total += sum(mix(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, n // 16))
        return avalanche(total + mix(data, n - 16, 119) & BITS)
    lanes = [SMALL3, P1, P2, P3, P4, SMALL2, P5, SMALL1]
    for stripe in range((n - 1) // 64):
        add_stripe(lanes, data, 64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            for i, lane in enumerate(lanes):
                lanes[i] = (lane ^ lane >> 47 ^ word(SECRET, 128 + 8 * i)) * SMALL1 & BITS
    add_stripe(lanes, data, n - 64, 121)
    for i in range(0, 8, 2):
        total += fold(lanes[i] ^ word(SECRET, 11 + 8 * i), lanes[i + 1] ^ word(SECRET, 19 + 8 * i))
    return avalanche(total & BITS)


def add_stripe(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    """Add 64 bytes to the lanes."""
    for i in range(8):
        value = word(data, at + 8 * i)
        key = value ^ word(SECRET, secret + 8 * i)
        lanes[i ^ 1] = lanes[i ^ 1] + value & BITS
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & BITS
