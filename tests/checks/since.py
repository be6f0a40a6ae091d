#!/usr/bin/env python3
"""Every declaration of the public headers has a comment with @since."""

import re
import sys

import cheaders


def main():
    found = []
    total = 0
    for header in cheaders.public_headers():
        functions = cheaders.functions(header)
        total += len(functions)
        if len(functions) != cheaders.declaration_count(header):
            found.append(f"include/{header}: {cheaders.declaration_count(header)} uses of TRT_API but {len(functions)} functions understood")
        for f in functions:
            if not re.search(r"@since \d+\.\d+", f.comment):
                found.append(f"include/{header}:{f.line}: {f.name} has no @since")
    print("\n".join(found) if found else f"{total} functions, all with @since")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
