package nn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatusOf(t *testing.T) {
	invalid := Invalid("input 3", "too %s: %w", "long", io.ErrUnexpectedEOF)
	for _, tc := range []struct {
		name string
		err  error
		want Status
	}{
		{"nil", nil, StatusNone},
		{"foreign", io.EOF, StatusGeneralFailure},
		{"Error", Errorf(StatusDeviceUnavailable, "device", "lost"), StatusDeviceUnavailable},
		{"wrapped Error", fmt.Errorf("execute: %w", invalid), StatusInvalidArgument},
		{"the outermost Error wins", Errorf(StatusResourceExhaustedTransient, "slot", "%w", invalid), StatusResourceExhaustedTransient},
		{"Error before a deadline", Errorf(StatusGeneralFailure, "device", "%w", context.DeadlineExceeded), StatusGeneralFailure},
		{"deadline", context.DeadlineExceeded, StatusMissedDeadlineTransient},
		{"wrapped deadline", fmt.Errorf("wait: %w", context.DeadlineExceeded), StatusMissedDeadlineTransient},
		{"cancelled", context.Canceled, StatusGeneralFailure},
		{"joined", errors.Join(io.EOF, invalid), StatusInvalidArgument},
		{"joined with nothing", errors.Join(invalid, nil), StatusInvalidArgument},
		{"persistent", Errorf(StatusMissedDeadlinePersistent, "request", "never"), StatusMissedDeadlinePersistent},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, StatusOf(tc.err)) })
	}
	require.Equal(t, "input 3: INVALID_ARGUMENT: too long: unexpected EOF", invalid.Error())
	require.ErrorIs(t, invalid, io.ErrUnexpectedEOF)
}
