package driver

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// storedTemplate is what a client's files have of a template behind the signature, as JSON: the model that instances are
// compiled from. Its constants are the data.
type storedTemplate struct {
	Main       nn.Graph
	Referenced []nn.Graph
	Relaxed    bool
}

// saveTemplate keeps m in the files of o. Instances are not in there: the transparent cache has those.
func (d *Device) saveTemplate(m *nn.Model, o *prepareOptions) (err error) {
	defer func() {
		if err != nil && d.cache.restorer != nil {
			d.cache.notKept(err)
		}
	}()
	if d.cache.restorer == nil {
		return errNotStored
	}
	store, err := d.cache.open()
	if err != nil {
		return err
	}
	model, data, err := encodeTemplate(m, o)
	if err != nil {
		return err
	}
	return store.Save(o.files.token, model, data, o.files.model, o.files.data)
}

// encodeTemplate: the signature, a storedTemplate; the constants, each once, at multiples of 4 bytes.
func encodeTemplate(m *nn.Model, o *prepareOptions) (model, data []byte, err error) {
	own := cloneForConstants(m)
	at := map[nn.Location]uint32{}
	room := int64(len(m.Values))
	for _, p := range m.Pools {
		room += p.Size()
	}
	each(own, func(c *nn.Operand) {
		if c.Lifetime != nn.ConstantCopy && c.Lifetime != nn.ConstantReference || err != nil {
			return
		}
		from := c.Location
		if c.Lifetime == nn.ConstantReference {
			from.Padding = 1 // which is 0 in models: not in the values
		}
		offset, ok := at[from]
		if !ok {
			var value []byte
			if value, err = m.Value(c); err != nil {
				return
			}
			if room -= int64(len(value)); room < 0 || len(data)+len(value)+4 > math.MaxUint32 {
				err = errOverlapping
				return
			}
			data = append(data, make([]byte, -len(data)&3)...)
			offset = uint32(len(data))
			data, at[from] = append(data, value...), offset
		}
		c.Lifetime, c.Location = nn.ConstantCopy, nn.Location{Offset: offset, Length: from.Length}
	})
	if err != nil {
		return nil, nil, err
	}
	signature, err := encodeSignature(m, &o.Options, true)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(storedTemplate{own.Main, own.Referenced, m.RelaxFloat32})
	if err != nil {
		return nil, nil, err
	}
	return append(signature, text...), data, nil
}

// restoreTemplate makes the template that e has, which was verified, and closes e. The constants count in c's budget.
func (c *Client) restoreTemplate(e *cache.Entry, s *storedSignature, o *prepareOptions) (*PreparedModel, error) {
	defer e.Close() // files that were only read: nothing can be lost
	damaged := func(err error) error {
		return &nn.Error{Status: nn.StatusGeneralFailure, Where: "cache files", Err: err}
	}
	var stored storedTemplate
	if err := json.Unmarshal(e.Model, &stored); err != nil {
		return nil, damaged(err)
	}
	m := s.model()
	m.Main, m.Referenced, m.RelaxFloat32 = stored.Main, stored.Referenced, stored.Relaxed
	own := &ownModel{Model: m, client: c}
	own.holders.Store(1)
	defer own.release()
	if err := c.take(e.Data.Size(), "constants"); err != nil {
		return nil, err
	}
	own.copied.Store(e.Data.Size())
	m.Values = make([]byte, e.Data.Size())
	if _, err := io.ReadFull(io.NewSectionReader(e.Data, 0, e.Data.Size()), m.Values); err != nil {
		return nil, damaged(err)
	}
	if err := validate.Model(m); err != nil { // a mistake of ours, if anything
		return nil, damaged(err)
	}
	if !validate.Open(m) {
		return nil, damaged(errors.New("no template"))
	}
	pm := &PreparedModel{
		client: c, signature: signatureOf(m), own: own, needed: s.Needed, outputs: s.OutputDims, saving: o.saving,
	}
	o.files = nil
	return pm, pm.makeTemplate(o)
}

// forInputs is f, the folder of a template's instances, for that of inputs of these dimensions.
func (f *cacheFiles) forInputs(inputs []nn.Dims) *cacheFiles {
	var b []byte
	for _, d := range inputs {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(d)))
		for _, n := range d {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	own := *f
	own.token = cache.Token(cache.KeyOf(f.token[:], []byte(fmt.Sprintf("instance of %d inputs", len(inputs))), b))
	return &own
}
