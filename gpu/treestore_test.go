package gpu

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/vulkan/vktest"
)

// storedTree is what adding stores after it ran, and its figures.
func storedTree(t *testing.T, b *Backend) (model, data []byte, stats backend.Stats) {
	t.Helper()
	x, err := b.Compile(t.Context(), adding(), backend.Options{Storable: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	for range 8 {
		_, err = add(t, x, 2)
		require.NoError(t, err)
	}
	_, err = x.(backend.Storer).StoreModel()
	require.ErrorContains(t, err, "not stored before")
	model, data, err = x.(backend.Storer).Store()
	require.NoError(t, err)
	return model, data, x.Stats()
}

// TestTreeComesBack: on the same device, opened anew, it computes the same, knows what was learned of its regions and loops,
// has its constants once, and stores the same again.
func TestTreeComesBack(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			model, data, stats := storedTree(t, openBackend(t, selector, Options{}))
			b := openBackend(t, selector, Options{})
			x, err := b.Restore(t.Context(), model, bytes.NewReader(append(data, 1, 2, 3)), backend.Options{Storable: true})
			require.NoError(t, err)
			require.Equal(t, stats, x.Stats())
			require.Less(t, int64(len(data)), stats.WeightBytes, "what regions share is there once")
			require.Positive(t, x.Later())
			again, err := x.(backend.Storer).StoreModel()
			require.NoError(t, err)
			stored, err := parseStored(model)
			require.NoError(t, err)
			restored, err := parseStored(again)
			require.NoError(t, err)
			stored[sectionBinaries], restored[sectionBinaries] = nil, nil // of other pipelines, too
			require.Equal(t, stored, restored, "what was learned is there")
			for _, n := range []uint32{0, 1, 2, 50} {
				parts, err := add(t, x, n)
				require.NoError(t, err)
				require.Equal(t, int(n)+3, parts)
			}
			_, dataAgain, err := x.(backend.Storer).Store()
			require.NoError(t, err)
			require.Equal(t, data, dataAgain)
			require.NoError(t, x.Close())
			_, _, err = x.(backend.Storer).Store()
			require.ErrorIs(t, err, nn.ErrClosed)

			x, err = b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
			require.NoError(t, err)
			_, _, err = x.(backend.Storer).Store()
			require.ErrorIs(t, err, errNotStorable)
			require.NoError(t, x.Close())
		})
	}
}

func TestRestoreRefusesTrees(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			b := openBackend(t, selector, Options{})
			model, data, _ := storedTree(t, b)
			sections, err := parseStored(model)
			require.NoError(t, err)
			with := func(kind int, content []byte) []byte {
				out := []byte(storeMagic)
				for k, c := range sections {
					if k == kind {
						c = content
					}
					if c != nil {
						out = appendSection(out, k, c)
					}
				}
				return out
			}
			estimates, tree := sections[sectionEstimates], sections[sectionTree]
			changed := func(b []byte, at int, v byte) []byte {
				c := slices.Clone(b)
				c[at] = v
				return c
			}
			whole := bytes.NewReader(data)
			for _, tc := range []struct {
				name  string
				model []byte
				data  backend.Data
				want  string
			}{
				{"no tree", with(sectionTree, nil), whole, "a section is missing"},
				{"a plan beside it", with(sectionPlan, tree), whole, "both a plan and a tree"},
				{"no estimates", with(sectionEstimates, nil), whole, "a section is missing"},
				{"an empty tree", with(sectionTree, []byte{}), whole, "not an encoded tree"},
				{"a later tree", with(sectionTree, changed(tree, 7, 2)), whole, "version 2"},
				{"a tree cut off", with(sectionTree, tree[:len(tree)-1]), whole, "encoded tree"},
				{"a longer tree", with(sectionTree, append(slices.Clone(tree), 0)), whole, "behind"},
				{"estimates cut off", with(sectionEstimates, estimates[:len(estimates)-1]), whole, "7 bytes of expectations"},
				{"half of the estimates", with(sectionEstimates, estimates[:12]), whole, "bytes of estimates"},
				{"estimates too many", with(sectionEstimates, append(slices.Clone(estimates), estimates...)), whole, "for 1 loops"},
				{"an estimate below 0", with(sectionEstimates, changed(estimates, 7, 0xff)), whole, "an estimate of -"},
				{"a loop for ever", with(sectionEstimates, changed(estimates, len(estimates)-1, 1)), whole, "loop 0 is expected"},
				{"short data", model, bytes.NewReader(data[:len(data)-1]), "bytes of constants"},
				{"no data", model, bytes.NewReader(nil), "0 bytes of constants"},
				{"data that shrinks", model, fileDataOf(t, data[:len(data)-1], int64(len(data))), "EOF"},
				{"data that cannot be read", model, brokenData{int64(len(data))}, "input/output error"},
			} {
				t.Run(tc.name, func(t *testing.T) {
					_, err := b.Restore(t.Context(), tc.model, tc.data, backend.Options{})
					require.ErrorContains(t, err, tc.want)
					require.Equal(t, nn.StatusGeneralFailure, nn.StatusOf(err))
				})
			}
			_, err = b.Restore(t.Context(), model, whole, backend.Options{MemoryBudget: 256})
			require.Equal(t, nn.StatusResourceExhaustedPersistent, nn.StatusOf(err), err)
		})
	}
}

// TestEveryByteOfATree: what passes for a tree is one that can be begun, whatever it computes.
func TestEveryByteOfATree(t *testing.T) {
	for _, selector := range vktest.Selectors() {
		t.Run(selector, func(t *testing.T) {
			t.Setenv("NNGPU_VALIDATION", "0") // takes most of the time
			b := openBackend(t, selector, Options{})
			model, data, _ := storedTree(t, b)
			sections, err := parseStored(model)
			require.NoError(t, err)
			tree := bytes.Index(model, sections[sectionTree])
			restored, ran := 0, 0
			for i := range sections[sectionTree] {
				was := model[tree+i]
				for _, v := range []byte{was ^ 1, was ^ 0x80, was + 1, 0, 0xff} {
					model[tree+i] = v
					x, err := b.Restore(t.Context(), model, bytes.NewReader(data), backend.Options{})
					if err != nil {
						continue
					}
					restored++
					if i%16 == 0 && begins(t, x) {
						ran++
					}
					require.NoError(t, x.Close())
				}
				model[tree+i] = was
			}
			t.Logf("%d were restored, %d ran", restored, ran)
		})
	}
}

// begins reports whether x, a tree like adding, runs for some parts.
func begins(t *testing.T, x backend.Executable) bool {
	t.Helper()
	e, err := x.Begin(t.Context(), backend.Hosts([][]byte{make([]byte, 20), {3, 0, 0, 0}}), backend.Hosts([][]byte{make([]byte, 20)}))
	if err != nil {
		return false
	}
	defer e.Release()
	for range 20 {
		f, err := e.Submit(0, e.Segments())
		if err == nil {
			err = f.Wait(t.Context())
		}
		if err != nil {
			return false
		}
		if list, _, err := e.(backend.Continuing).Next(t.Context()); err != nil || len(list) == 0 {
			return err == nil
		}
	}
	return true
}
