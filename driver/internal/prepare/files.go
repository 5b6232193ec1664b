package prepare

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/nngpu/nngpu/cache"
	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/internal/budget"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/validate"
)

// FromFiles brings back the model that was prepared with open files under the same token; they may be closed after the
// call. again applies the client's wishes to the options of that preparation, which o becomes. Memory is taken from a.
//
// Errors: GENERAL_FAILURE if the files do not hold what was saved, INVALID_ARGUMENT for files that cannot be right;
// those of the backend and of the account.
func (d *Device) FromFiles(
	ctx context.Context, token cache.Token, model, data []*os.File, a *budget.Account, o *Options, again func(*Options),
) (*Model, error) {
	if d.restorer == nil {
		return nil, nn.Errorf(nn.StatusGeneralFailure, "prepare from cache", "the backend cannot store compiled models")
	}
	store, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("prepare from cache: %w", err)
	}
	e, err := store.Load(token, model, data)
	if errors.Is(err, cache.ErrInvalid) {
		return nil, &nn.Error{Status: nn.StatusInvalidArgument, Where: "cache files", Err: err}
	}
	if err != nil {
		return nil, damaged(err)
	}
	ctx, cancel := WithDeadline(ctx, o.Deadline)
	defer cancel()
	p, err := d.fromEntry(ctx, e, a, o, again)
	if err != nil {
		return nil, fmt.Errorf("prepare from cache: %w", err)
	}
	o.Saved.done(nil)
	return p, p.settle()
}

// damaged is the error of files that do not hold what they should.
func damaged(err error) error {
	return &nn.Error{Status: nn.StatusGeneralFailure, Where: "cache files", Err: err}
}

// fromEntry makes the model that e has and closes e.
func (d *Device) fromEntry(ctx context.Context, e *cache.Entry, a *budget.Account, o *Options, again func(*Options)) (*Model, error) {
	signature, stored, err := decodeSignature(e.Model)
	if err != nil {
		_ = e.Close()
		return nil, damaged(err)
	}
	e.Model = stored
	o.Options = backend.Options{Preference: signature.Preference, Priority: signature.Priority, Quick: signature.Quick}
	again(o)
	p := &Model{Signature: signature.model(), Needed: signature.Needed, Outputs: signature.OutputDims, device: d, account: a}
	if signature.Template {
		return p, p.restoreTemplate(e, o)
	}
	f, err := d.restore(ctx, e, o.Options)
	if nn.StatusOf(err) == nn.StatusInvalidArgument { // the arguments were right, but the contents of the files are not
		return nil, damaged(err)
	}
	if err != nil {
		return nil, err
	}
	d.counts.Prepared(Hit)
	p.have(f, Off, nil)
	return p, nil
}

// storedTemplate is the content of a client's files for a template behind the signature, as JSON: the model that
// instances are compiled from. Its constants are the data.
type storedTemplate struct {
	Main       nn.Graph
	Referenced []nn.Graph
	Relaxed    bool
}

// saveTemplate keeps m in the open files of o. Instances are not kept there, but in the transparent cache.
func (d *Device) saveTemplate(m *nn.Model, o *Options) error {
	if d.restorer == nil {
		return errNotStored
	}
	model, data, err := encodeTemplate(m, o)
	if err == nil {
		err = d.save(o.Files, model, data)
	}
	if err != nil {
		d.notKept(err)
	}
	return err
}

// encodeTemplate: the signature, a storedTemplate; the constants, each once, at multiples of 4 bytes.
func encodeTemplate(m *nn.Model, o *Options) (model, data []byte, err error) {
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
			from.Padding = 1 // 0 in models: says that it is not in the values
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
	signature, err := encodeSignature(m, &o.Options, optimised, true)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(storedTemplate{own.Main, own.Referenced, m.RelaxFloat32})
	if err != nil {
		return nil, nil, err
	}
	return append(signature, text...), data, nil
}

// restoreTemplate makes p, which has only the signature, the template in e, which was verified, and closes e.
func (p *Model) restoreTemplate(e *cache.Entry, o *Options) error {
	defer e.Close() // files that were only read: nothing can be lost
	var stored storedTemplate
	if err := json.Unmarshal(e.Model, &stored); err != nil {
		return damaged(err)
	}
	m := &nn.Model{Main: stored.Main, Referenced: stored.Referenced, RelaxFloat32: stored.Relaxed, Names: p.Signature.Names}
	p.source = &Source{Model: m, account: p.account}
	p.source.holders.Store(1)
	defer p.source.Release()
	size := e.Data.Size()
	if err := p.account.Take(size, "constants"); err != nil {
		return err
	}
	p.source.copied.Store(size)
	m.Values = make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(e.Data, 0, size), m.Values); err != nil {
		return damaged(err)
	}
	if err := validate.Model(m); err != nil { // a mistake of ours, if anything
		return damaged(err)
	}
	if !validate.Open(m) {
		return damaged(errors.New("no template"))
	}
	p.Signature = signatureOf(m)
	o.Files = nil
	return p.makeTemplate(o)
}

// forInputs is f, the folder of a template's instances, for the instance with inputs of these dimensions.
func (f *Files) forInputs(inputs []nn.Dims) *Files {
	var b []byte
	for _, d := range inputs {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(d)))
		for _, n := range d {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	own := *f
	own.Token = cache.Token(cache.KeyOf(f.Token[:], []byte(fmt.Sprintf("instance of %d inputs", len(inputs))), b))
	return &own
}
