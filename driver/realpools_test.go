package driver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/null"
	"github.com/nngpu/nngpu/memory"
)

// TestM28WritesReachTheFile, whether the pool is mapped or written in pieces, and from where in it.
func TestM28WritesReachTheFile(t *testing.T) {
	const offset = 4097
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "pool"))
	require.NoError(t, err)
	defer plain.Close()
	require.NoError(t, plain.Truncate(offset+24))
	pool, err := memory.FromFile(plain, memory.ProtRead|memory.ProtWrite, offset, 24)
	require.NoError(t, err)
	require.Implements(t, (*nn.File)(nil), pool)
	ashmem, err := memory.NewAshmem("test", 24)
	require.NoError(t, err)
	require.Implements(t, (*nn.Pinned)(nil), ashmem)

	b := &null.Backend{Compute: add}
	_, c := open(t, b)
	pm := prepareOn(t, c, addModel())
	r := addRequest()
	data := []byte(r.Pools[0].(nn.HostMemory))
	r.Pools[0] = pool
	_, err = plain.WriteAt(data, offset)
	require.NoError(t, err)
	_, err = pm.Execute(t.Context(), r)
	require.NoError(t, err)
	got := make([]byte, 24)
	_, err = plain.ReadAt(got, offset)
	require.NoError(t, err)
	require.Equal(t, addResult, got[16:22])

	mapped, err := ashmem.Bytes()
	require.NoError(t, err)
	copy(mapped, data)
	r.Pools[0] = ashmem
	res, err := pm.Execute(t.Context(), r)
	require.NoError(t, err)
	require.Zero(t, res.Traffic.Copied)
	require.Equal(t, addResult, mapped[16:22])
	require.Equal(t, 1, count(b.Calls(), "import"))

	// A file that is shortened after it was handed over, and pools that are closed.
	require.NoError(t, plain.Truncate(offset+10))
	r.Pools[0] = pool
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusGeneralFailure, err)
	require.NoError(t, pool.Close())
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	r.Pools[0] = ashmem
	require.NoError(t, ashmem.Close())
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	require.Equal(t, 1, count(b.Calls(), "free memory"))
}

// TestR10OneFileMappedTwice: two pools of the same bytes at different addresses.
func TestR10OneFileMappedTwice(t *testing.T) {
	first, err := memory.NewAshmem("test", 24)
	require.NoError(t, err)
	defer first.Close()
	h, err := first.Handle()
	require.NoError(t, err)
	second, err := memory.Open(h)
	require.NoError(t, err)
	defer second.Close()
	for _, f := range h.Files {
		f.Close()
	}
	pm := prepare(t, &null.Backend{Compute: add}, addModel())
	r := addRequest()
	r.Pools = []nn.Memory{first, second}
	r.Outputs[0].Location.PoolIndex = 1
	_, err = pm.Execute(t.Context(), r)
	require.NoError(t, err)
	r.Outputs[0].Location.Offset = 13
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
	m := constantModel(second)
	pm = prepare(t, &null.Backend{}, m)
	r.Inputs, r.Outputs[0].Location = r.Inputs[:1], nn.Location{Offset: 16, Length: 6}
	_, err = pm.Execute(t.Context(), r)
	requireStatus(t, nn.StatusInvalidArgument, err)
}
