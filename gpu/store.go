package gpu

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nngpu/nngpu/driver/backend"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu/internal/plan"
	"github.com/nngpu/nngpu/gpu/internal/version"
	"github.com/nngpu/nngpu/gpu/internal/vulkan"
	"github.com/nngpu/nngpu/shaders"
)

var (
	_ backend.Restorer = (*Backend)(nil)
	_ backend.Storer   = (*executable)(nil)
)

// executable is what Compile and Restore return.
type executable struct {
	*longLived
	backend  *Backend
	storable bool
	learned  atomic.Pointer[[]time.Duration] // nil: nothing yet
}

func newExecutable(x *longLived, b *Backend, o backend.Options) *executable {
	return &executable{longLived: x, backend: b, storable: o.Storable}
}

var errNotStorable = errors.New("the model was not prepared with Options.Storable")

// Store implements backend.Storer.
func (x *executable) Store() (model, data []byte, err error) {
	if !x.storable {
		return nil, nil, errNotStorable
	}
	if data, err = x.Weights(); err != nil {
		return nil, nil, fmt.Errorf("store: %w", err)
	}
	if model, err = x.StoreModel(); err != nil {
		return nil, nil, err
	}
	return model, data, nil
}

// StoreModel implements backend.Storer.
func (x *executable) StoreModel() (model []byte, err error) {
	if !x.storable {
		return nil, errNotStorable
	}
	if err := x.open(); err != nil {
		return nil, err
	}
	return x.backend.storeSections(sectionPlan, plan.Encode(x.Plan()), encodeEstimates(x.Estimates()))
}

// storeSections is the model part of what is encoded as a section of the given kind.
func (b *Backend) storeSections(kind int, encoded, estimates []byte) (model []byte, err error) {
	d, err := b.devices.use()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	sections := [sectionKinds][]byte{sectionIdentity: []byte(b.StoreIdentity()), sectionEstimates: estimates}
	sections[kind] = encoded
	if sections[sectionBinaries], err = d.Binaries(); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	model = []byte(storeMagic)
	for kind, content := range sections {
		if len(content) > 0 || kind == sectionEstimates {
			model = appendSection(model, kind, content)
		}
	}
	return model, nil
}

// Restore implements backend.Restorer. data is read in ascending order, except for what several regions of a tree
// share; constants go straight into memory that the device reads, or into staging memory of bounded size where it reads
// no host memory. Errors: those of Compile; GENERAL_FAILURE for what cannot have been stored by this program for this
// device.
func (b *Backend) Restore(ctx context.Context, model []byte, data backend.Data, o backend.Options) (backend.Executable, error) {
	if err := cmp.Or(nn.NotNil("context", ctx), nn.NotNil("data", data), b.devices.open()); err != nil {
		return nil, err
	}
	s, err := parseStored(model)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	if got, want := string(s[sectionIdentity]), b.StoreIdentity(); got != want {
		return nil, fmt.Errorf("restore: stored by another program, or on another device: %s", difference(got, want))
	}
	restore := b.restorePlan
	if s[sectionTree] != nil {
		restore = b.restoreTree
	}
	x, err := restore(ctx, &s, data, o)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return x, nil
}

// restorePlan is Restore of a model without control flow.
func (b *Backend) restorePlan(ctx context.Context, s *[sectionKinds][]byte, data backend.Data, o backend.Options) (backend.Executable, error) {
	p, err := plan.Decode(s[sectionPlan])
	if err != nil {
		return nil, err
	}
	estimates, err := decodeEstimates(s[sectionEstimates], len(p.Segments))
	if err != nil {
		return nil, err
	}
	if err := b.admit(s[sectionBinaries], p); err != nil {
		return nil, err
	}
	x, err := b.newLongLived(ctx, p, data, executableOptions(o))
	if err != nil {
		return nil, err
	}
	x.stats.Quick = o.Quick
	restored := newExecutable(x, b, o)
	restored.SetEstimates(estimates)
	return restored, nil
}

// admit refuses kernels that are not trusted, and takes the binaries of all others.
func (b *Backend) admit(binaries []byte, plans ...*plan.Plan) error {
	var pipelines []plan.Pipeline
	for _, p := range plans {
		if list := b.trust.untrusted(p); len(list) > 0 {
			return fmt.Errorf("kernel %s is not known to compute rightly on this device", list[0])
		}
		pipelines = append(pipelines, p.Pipelines()...)
	}
	d, err := b.devices.use()
	if err != nil {
		return err
	}
	defer d.Release()
	return d.AddBinaries(binaries, pipelines)
}

// storeMagic begins the model part of a stored executable; its last byte is the version. Sections follow, in
// ascending order of their kind, each at most once: kind (1 byte), version (1 byte), length (4 bytes, least
// significant first), content. A section that the reader does not know is an error, not skipped: the identity
// comes first and names the program, and only the same program reads what it wrote. So a new kind of section
// needs no new version of the whole.
const storeMagic = "nngpu\x00\x00\x01"

// Kinds of sections. There must be all but the binaries, and either a plan or a tree.
const (
	sectionIdentity  = iota // Backend.StoreIdentity
	sectionPlan             // plan.Encode
	sectionBinaries         // vulkan.Device.Binaries, where there are any
	sectionEstimates        // encodeEstimates, or that of a tree
	sectionTree             // compile.EncodeTree
	sectionKinds
)

// sectionVersions has the version of each kind.
var sectionVersions = [sectionKinds]byte{1, 3, 1, 1, 1}

const sectionHeader = 1 + 1 + 4

func appendSection(b []byte, kind int, content []byte) []byte {
	b = append(b, byte(kind), sectionVersions[kind])
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	return append(b, content...)
}

// parseStored cuts model into its sections; they are nil where absent.
func parseStored(model []byte) (sections [sectionKinds][]byte, err error) {
	b, ok := bytes.CutPrefix(model, []byte(storeMagic))
	if !ok {
		return sections, errors.New("not a stored model of this version")
	}
	last := -1
	for len(b) > 0 {
		if len(b) < sectionHeader {
			return sections, errors.New("a section's header is cut off")
		}
		kind, version, size := int(b[0]), b[1], binary.LittleEndian.Uint32(b[2:])
		if kind <= last || kind >= sectionKinds || version != sectionVersions[kind] {
			return sections, fmt.Errorf("section %d of version %d after section %d", kind, version, last)
		}
		if b = b[sectionHeader:]; uint64(size) > uint64(len(b)) {
			return sections, fmt.Errorf("section %d of %d bytes in %d", kind, size, len(b))
		}
		sections[kind], b, last = b[:size:size], b[size:], kind
	}
	if sections[sectionIdentity] == nil || sections[sectionEstimates] == nil || sections[sectionPlan] == nil && sections[sectionTree] == nil {
		return sections, errors.New("a section is missing")
	}
	if sections[sectionPlan] != nil && sections[sectionTree] != nil {
		return sections, errors.New("both a plan and a tree")
	}
	return sections, nil
}

// difference is the first line in which two identities differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("%.200q instead of %.200q", g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines instead of %d", len(g), len(w))
}

// Estimates implements backend.Executable: what was learned, else what the cost model says.
func (x *executable) Estimates() []time.Duration {
	if list := x.learned.Load(); list != nil {
		return *list
	}
	return x.longLived.Estimates()
}

// SetEstimates implements backend.Storer.
func (x *executable) SetEstimates(list []time.Duration) {
	if checkEstimates(list, len(x.Plan().Segments)) != nil {
		return
	}
	list = slices.Clone(list)
	x.learned.Store(&list)
}

// checkEstimates holds list to what backend.Storer says.
func checkEstimates(list []time.Duration, segments int) error {
	if len(list) != segments {
		return fmt.Errorf("%d estimates of %d segments", len(list), segments)
	}
	for i, t := range list {
		if t <= 0 || t > backend.MaxEstimate {
			return fmt.Errorf("an estimate of %v for segment %d", t, i)
		}
	}
	return nil
}

// encodeEstimates: 8 bytes of nanoseconds a segment, least significant first.
func encodeEstimates(list []time.Duration) []byte {
	var b []byte
	for _, t := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(t))
	}
	return b
}

// decodeEstimates undoes encodeEstimates for a plan of so many segments.
func decodeEstimates(b []byte, segments int) ([]time.Duration, error) {
	if len(b) != 8*segments {
		return nil, fmt.Errorf("%d bytes of estimates for %d segments", len(b), segments)
	}
	list := make([]time.Duration, segments)
	for i := range list {
		list[i] = time.Duration(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list, checkEstimates(list, segments)
}

// StoreIdentity implements backend.Restorer: five lines of text, for the program, its kernels, the device, its
// Vulkan driver, and what the compiler knows of the device.
func (b *Backend) StoreIdentity() string {
	info := b.device.Describe()
	return identity(version.Program(), &info, &b.facts)
}

func identity(program string, info *vulkan.DeviceInfo, facts *plan.Facts) string {
	text, err := json.Marshal(facts)
	if err != nil {
		panic(err) // numbers and flags
	}
	p := info.Properties
	return strings.Join([]string{
		"program " + program,
		"kernels " + shaders.SetID,
		fmt.Sprintf("device %q %x:%x %x", info.Name, p.VendorID, p.DeviceID, p.DeviceUUID),
		fmt.Sprintf("driver %q %x %x %x", info.Driver, p.DriverID, p.DriverVersion, p.DriverUUID),
		fmt.Sprintf("facts %x", sha256.Sum256(text)),
	}, "\n")
}
