package nn

import "reflect"

// IsNil reports whether v is nil or an interface that holds a nil pointer or function.
func IsNil(v any) bool {
	switch v.(type) {
	case nil:
		return true
	case HostMemory, BufferToken: // the usual pools
		return false
	}
	r := reflect.ValueOf(v)
	return (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}

// NotNil refuses an argument that is nil, or an interface that holds a nil pointer or function. what names it.
func NotNil(what string, v any) error {
	if IsNil(v) {
		return Invalid(what, "there is none")
	}
	return nil
}
