package nn

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotNil(t *testing.T) {
	var file *os.File
	var call func()
	var memory Memory
	for name, v := range map[string]any{"nil": nil, "interface": memory, "pointer": file, "function": call} {
		require.True(t, IsNil(v), name)
		err := NotNil("argument", v)
		require.Equal(t, StatusInvalidArgument, StatusOf(err), name)
		require.EqualError(t, err, "argument: INVALID_ARGUMENT: there is none")
	}
	for name, v := range map[string]any{
		"context": context.Background(), "empty memory": HostMemory(nil), "token": BufferToken(0), "pointer": &Model{},
		"function": func() {}, "value": Model{}, "empty list": []byte(nil),
	} {
		require.NoError(t, NotNil("argument", v), name)
	}
}
