// FunctionSchema: an operator's signature, parsed from PyTorch's schema grammar:
//   name.overload(Tensor self, int[2] stride=1, *, Scalar alpha=1, Tensor(a!) out) -> (Tensor values, Tensor indices)
// Immutable after parsing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/value.h"

namespace trt {

struct SchemaType {
  enum class Kind : uint8_t { Tensor, Int, Float, Bool, Scalar, ScalarType, Device, Str, Generator };
  Kind kind = Kind::Tensor;
  bool is_list = false;
  bool optional = false;          // None is allowed (for a list: instead of the list)
  bool optional_element = false;  // Tensor?[]
  int list_size = 0;              // int[2]: a single int stands for the list repeated
  bool written = false;           // Tensor(a!): changed in place
  std::string text() const;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  bool kwarg_only = false;
  bool has_default = false;
  Value default_value;
  std::string default_text;
};

struct FunctionSchema {
  std::string name;      // without overload
  std::string overload;  // may be empty
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;  // names may be empty
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  std::string text() const;
  const SchemaArgument* find_argument(std::string_view arg) const;
};

// Throws kInvalidArgument with the position and what was expected there.
FunctionSchema parse_schema(std::string_view text);

// Turns `v` into exactly what `arg` takes (int to float or Scalar, one int to int[n], None to an absent value), or throws
// kInvalidArgument naming operator, argument, the type expected and the type given.
Value coerce_argument(const FunctionSchema& schema, const SchemaArgument& arg, Value v);

}  // namespace trt
