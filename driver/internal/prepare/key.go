package prepare

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/nn"
)

// maxOverlap bounds how often all bytes of values and pools are hashed for a key. Each operand's constant is hashed by
// itself, and nothing keeps a small model from having thousands that are the same gigabyte.
const maxOverlap = 16

var errOverlapping = errors.New("constants overlap too much to be hashed")

// modelKey covers everything beside the device that a compilation depends on: graphs, constants, options. It depends on
// the content of constants, not on their place in values and pools.
func modelKey(m *nn.Model, p nn.Preference) (cache.Key, error) {
	h := keyHash{h: sha256.New(), room: maxOverlap * int64(len(m.Values))}
	for _, p := range m.Pools {
		h.room += maxOverlap * p.Size()
	}
	h.numbers(uint64(p), uint64(len(m.Referenced)))
	h.flag(m.RelaxFloat32)
	graphs := append([]nn.Graph{m.Main}, m.Referenced...)
	for i := range graphs {
		if err := h.graph(m, &graphs[i]); err != nil {
			return cache.Key{}, err
		}
	}
	return cache.Key(h.h.Sum(nil)), nil
}

// keyHash writes numbers and byte strings, each string after its length, so that no two models give the same bytes.
type keyHash struct {
	h    hash.Hash
	room int64 // bytes of constants that may still be hashed
}

func (k keyHash) numbers(v ...uint64) {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	k.h.Write(b)
}

func (k keyHash) flag(on bool) {
	if on {
		k.numbers(1)
	} else {
		k.numbers(0)
	}
}

func (k keyHash) indexes(list []uint32) {
	k.numbers(uint64(len(list)))
	for _, x := range list {
		k.numbers(uint64(x))
	}
}

func (k *keyHash) graph(m *nn.Model, g *nn.Graph) error {
	k.numbers(uint64(len(g.Operands)), uint64(len(g.Operations)))
	for i := range g.Operands {
		o := &g.Operands[i]
		lifetime := o.Lifetime
		if lifetime == nn.ConstantReference {
			lifetime = nn.ConstantCopy
		}
		k.numbers(uint64(o.Type), uint64(math.Float32bits(o.Scale)), uint64(uint32(o.ZeroPoint)), uint64(lifetime))
		k.indexes(o.Dims)
		k.flag(o.Channel != nil)
		if o.Channel != nil {
			k.numbers(uint64(o.Channel.ChannelDim), uint64(len(o.Channel.Scales)))
			for _, s := range o.Channel.Scales {
				k.numbers(uint64(math.Float32bits(s)))
			}
		}
		if o.Lifetime == nn.Subgraph {
			k.numbers(uint64(o.Location.Offset))
		}
		value, err := m.Value(o)
		if err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
		if k.room -= int64(len(value)); k.room < 0 {
			return errOverlapping
		}
		k.numbers(uint64(len(value)))
		k.h.Write(value)
	}
	for i := range g.Operations {
		k.numbers(uint64(g.Operations[i].Type))
		k.indexes(g.Operations[i].Inputs)
		k.indexes(g.Operations[i].Outputs)
	}
	k.indexes(g.Inputs)
	k.indexes(g.Outputs)
	return nil
}
