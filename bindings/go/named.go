package tensorrt

import "reflect"

// namedDType is the dtype of a value whose type is defined on an element type.
func namedDType(zero any, size uintptr) DType {
	switch reflect.TypeOf(zero).Kind() {
	case reflect.Bool:
		return Bool
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Uint8:
		return UInt8
	case reflect.Complex64:
		return Complex64
	case reflect.Complex128:
		return Complex128
	}
	return map[uintptr]DType{1: Int8, 2: Int16, 4: Int32, 8: Int64}[size]
}
