package nn

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnsupported(t *testing.T) {
	m := &Model{Main: Graph{Operations: []Operation{{Type: OpLstm}, {Type: OpRelu}, {Type: OpLstm}, {Type: OpTile}}}}
	require.NoError(t, Unsupported(m, make([]error, 4)))
	large := errors.New("too large")
	err := Unsupported(m, []error{errors.New("unknown"), nil, errors.New("unknown"), large})
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorIs(t, err, large)
	require.Equal(t, StatusGeneralFailure, StatusOf(err))
	var u *UnsupportedError
	require.ErrorAs(t, err, &u)
	require.Equal(t, []int{0, 2, 3}, []int{u.Operations[0].Index, u.Operations[1].Index, u.Operations[2].Index})
	require.Equal(t, []string{"2 times LSTM, first operation 0: unknown", "operation 3 (TILE): too large"}, u.Reasons())
	require.EqualError(t, err, "model: GENERAL_FAILURE: 3 of 4 operations not supported: "+
		"2 times LSTM, first operation 0: unknown; operation 3 (TILE): too large")
	require.NotErrorIs(t, Invalid("model", "wrong"), ErrUnsupported)
}
