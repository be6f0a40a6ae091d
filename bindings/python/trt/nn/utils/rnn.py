"""Sequences of different lengths."""

from trt import _C


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [length, ...] as one tensor [longest, n, ...] ([n, longest, ...] with batch_first), filled with padding_value."""
    return _C._operators["pad_sequence"](list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of the given lengths that pad_sequence put together; a list."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[:int(n)] for s, n in zip(padded_sequences, lengths)]
