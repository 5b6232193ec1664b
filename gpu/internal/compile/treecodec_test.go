package compile

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/driver/nn/nntest"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// planned is the tree of m with all plans.
func planned(t testing.TB, m *nn.Model) *Tree {
	t.Helper()
	tree, err := TreeOf(&lavapipe, m)
	require.NoError(t, err)
	for _, s := range tree.Straights {
		if s.Model != nil {
			s.Plan, _, err = Model(context.Background(), &lavapipe, s.Model, nil)
		} else {
			var list []nn.Operand
			for _, v := range s.In {
				list = append(list, tree.Values[v].Operand)
			}
			s.Plan, _, err = Copy(context.Background(), &lavapipe, list)
		}
		require.NoError(t, err)
	}
	return tree
}

// nestedModel has a loop in each branch of an IF.
func nestedModel() *nn.Model {
	loop := whileModel()
	b := &nn.Builder{}
	x, n := b.Input(nn.TensorFloat32, row, 0, 0), b.Input(nn.TensorInt32, oneNumber, 0, 0)
	c, then, otherwise := b.Input(nn.TensorBool8, oneNumber, 0, 0), b.Scalar(0), b.Scalar(0)
	b.Output(applied(b, nn.OpIf, nn.TensorFloat32, row, c, then, otherwise, x, n))
	m := nntest.Join(nntest.Graph{B: b, Refer: map[uint32]uint32{then: 0, otherwise: 0}}, nntest.Graph{B: &nn.Builder{}})
	shift := uint32(len(m.Values))
	m.Values = append(m.Values, loop.Values...)
	graphs := append([]nn.Graph{loop.Main}, loop.Referenced...)
	for i := range graphs {
		for k := range graphs[i].Operands {
			switch o := &graphs[i].Operands[k]; o.Lifetime {
			case nn.ConstantCopy:
				o.Location.Offset += shift
			case nn.Subgraph:
				o.Location.Offset++
			}
		}
	}
	m.Referenced = graphs
	return m
}

func storedTrees(t testing.TB) map[string]*Tree {
	t.Helper()
	return map[string]*Tree{"if": planned(t, ifModel(nil)), "while": planned(t, whileModel()), "nested": planned(t, nestedModel())}
}

func encoded(t testing.TB, tree *Tree) []byte {
	t.Helper()
	require.NoError(t, tree.Verify(&lavapipe))
	weights := make([]int, len(tree.Straights))
	for i, s := range tree.Straights {
		weights[i] = 7 * int(s.Plan.WeightBytes) // those that are as long are taken to be equal
	}
	return EncodeTree(tree, weights)
}

// TestTreesComeBack: what is decoded has the same text but for the numbers of regions, and the same encoding.
func TestTreesComeBack(t *testing.T) {
	for name, tree := range storedTrees(t) {
		t.Run(name, func(t *testing.T) {
			data := encoded(t, tree)
			again, err := DecodeTree(&lavapipe, data)
			require.NoError(t, err)
			require.Equal(t, data, EncodeTree(again.Tree, again.Weights))
			require.Len(t, again.Values, len(tree.Values))
			for i := range tree.Values {
				require.Equal(t, tree.Values[i].Dims, again.Values[i].Dims)
				require.Equal(t, tree.Values[i].Type, again.Values[i].Type)
				require.Equal(t, tree.Values[i].Place, again.Values[i].Place)
			}
			require.Equal(t, tree.Inputs, again.Inputs)
			require.Equal(t, tree.Outputs, again.Outputs)
			was, wasLoops := tree.Order()
			is, isLoops := again.Order()
			require.Equal(t, again.Straights, is)
			require.Equal(t, again.Loops, isLoops)
			require.Len(t, isLoops, len(wasLoops))
			for i := range was {
				require.Equal(t, was[i].Plan, is[i].Plan)
				require.Equal(t, was[i].In, is[i].In)
				require.Equal(t, was[i].Out, is[i].Out)
			}
			sizes, total, err := again.Sizes()
			require.NoError(t, err)
			require.Less(t, len(sizes), len(is), "some are shared")
			require.Positive(t, total)
		})
	}
}

// TestEveryDamageToATreeIsJudged flips every bit, cuts at every byte, and appends: what is taken is another tree, and sound.
func TestEveryDamageToATreeIsJudged(t *testing.T) {
	for name, tree := range storedTrees(t) {
		t.Run(name, func(t *testing.T) {
			data := encoded(t, tree)
			taken := 0
			for i := range data {
				_, err := DecodeTree(&lavapipe, data[:i])
				require.Error(t, err, "cut at %d", i)
				for bit := range 8 {
					data[i] ^= 1 << bit
					if other, err := DecodeTree(&lavapipe, data); err == nil {
						taken++
						require.Equal(t, data, EncodeTree(other.Tree, other.Weights), "bit %d of byte %d", bit, i)
					}
					data[i] ^= 1 << bit
				}
			}
			_, err := DecodeTree(&lavapipe, append(data, 0))
			require.ErrorContains(t, err, "behind")
			t.Logf("%d of %d are other trees", taken, 8*len(data))
		})
	}
}

// TestUnsoundTrees damages each field of the tree of a loop, as nothing that is encoded right would be.
func TestUnsoundTrees(t *testing.T) {
	region := func(t *Tree, n int) *Straight { s, _ := t.Order(); return s[n] }
	find := func(t *Tree, p Place) int {
		return slices.IndexFunc(t.Values, func(v Value) bool { return v.Place == p })
	}
	// In the order of the encoding: inputs, the first condition, an iteration, the loop's results, RELU.
	cases := map[string]struct {
		damage func(*Tree)
		want   string
	}{
		"nothing":          {func(*Tree) {}, ""},
		"no regions":       {func(t *Tree) { t.Main = nil }, "without regions"},
		"no plan":          {func(t *Tree) { region(t, 1).Plan = nil }, "no plan"},
		"an idle region":   {func(t *Tree) { t.Main = t.Main[:3]; t.Outputs = nil; t.Values[4].Place = InMemory }, "4 of 5 straight regions"},
		"a region twice":   {func(t *Tree) { t.Main = append(t.Main, t.Main[3]) }, "6 of 5 straight regions"},
		"index":            {func(t *Tree) { region(t, 2).Index = 77 }, "not where its index says"},
		"index below 0":    {func(t *Tree) { region(t, 2).Index = -1 }, "not where its index says"},
		"loop's index":     {func(t *Tree) { t.Loops[0].Index = 1 }, "not where its index says"},
		"idle loop":        {func(t *Tree) { t.Loops = append(t.Loops, &Loop{}) }, "1 of 2 loops"},
		"type":             {func(t *Tree) { t.Values[1].Type = 99 }, "value 1"},
		"scalar type":      {func(t *Tree) { t.Values[1].Type = nn.Int32 }, "value 1"},
		"open dimension":   {func(t *Tree) { t.Values[1].Dims = nn.Dims{0, 5} }, "value 1"},
		"other dimensions": {func(t *Tree) { t.Values[1].Dims = nn.Dims{2, 6} }, "bytes, the plan has"},
		"another form":     {func(t *Tree) { t.Values[1].Dims = nn.Dims{1, 10} }, "on the device, the plan has"},
		"rank":             {func(t *Tree) { t.Values[1].Dims = slices.Repeat(nn.Dims{1}, 9) }, "value 1"},
		"huge":             {func(t *Tree) { t.Values[1].Dims = nn.Dims{1 << 31, 1 << 31} }, "value 1"},
		"large":            {func(t *Tree) { t.Values[1].Dims = nn.Dims{1 << 30} }, "value 1"},
		"place":            {func(t *Tree) { t.Values[1].Place = 4 }, "place 4"},
		"long condition":   {func(t *Tree) { t.Values[6].Dims = nn.Dims{2} }, "a condition of 2 bytes"},
		"odd condition":    {func(t *Tree) { t.Values[6].Type = nn.TensorQuant8Asymm }, "a condition of"},
		"input":            {func(t *Tree) { t.Inputs[0] = 1 }, "input 0 is value 1"},
		"input below":      {func(t *Tree) { t.Inputs[0] = -2 }, "input 0 is value -2"},
		"input beyond":     {func(t *Tree) { t.Inputs[0] = 100 }, "input 0 is value 100"},
		"input twice":      {func(t *Tree) { t.Inputs[1] = t.Inputs[0] }, "input 1 is value"},
		"no output":        {func(t *Tree) { t.Outputs[0] = None }, "output 0 is value -1"},
		"input as output":  {func(t *Tree) { t.Outputs[0] = t.Inputs[0] }, "output 0 is value"},
		"unbound":          {func(t *Tree) { t.Inputs[0] = None }, "only the first region reads inputs"},
		"uncomputed": {func(t *Tree) {
			t.Values = append(t.Values, t.Values[4])
			t.Outputs = append(t.Outputs, len(t.Values)-1)
		}, "nothing computes output 1"},
		"fewer inputs":        {func(t *Tree) { s := region(t, 2); s.In = s.In[:2] }, "2 and 3 values for a plan of 3"},
		"fewer outputs":       {func(t *Tree) { s := region(t, 2); s.Out = s.Out[:2] }, "3 and 2 values for a plan of 3"},
		"input beyond all":    {func(t *Tree) { region(t, 2).In[0] = 1000 }, "there is none"},
		"output below all":    {func(t *Tree) { region(t, 2).Out[0] = -1 }, "there is none"},
		"late input":          {func(t *Tree) { region(t, 4).In[0] = t.Inputs[0] }, "only the first region reads inputs"},
		"reads an output":     {func(t *Tree) { region(t, 3).In[0] = t.Outputs[0] }, "none reads outputs"},
		"reads a condition":   {func(t *Tree) { region(t, 1).In[0] = t.Loops[0].While }, "only decisions read"},
		"writes an input":     {func(t *Tree) { region(t, 4).Out[0] = t.Inputs[0] }, "not to be written"},
		"writes a constant":   {func(t *Tree) { region(t, 2).Out[1] = find(t, InConstant) }, "not to be written"},
		"writes the state":    {func(t *Tree) { region(t, 2).Out[0] = t.Loops[0].Current[0] }, "is another input or output"},
		"writes a state":      {func(t *Tree) { region(t, 3).Out[0], region(t, 3).In[0] = t.Loops[0].Current[0], 1 }, "the state of a loop"},
		"in place":            {func(t *Tree) { s := region(t, 4); s.Out[0] = s.In[0] }, "is another input or output"},
		"output twice":        {func(t *Tree) { s := region(t, 0); s.Out[1] = s.Out[0] }, "is another input or output"},
		"too early":           {func(t *Tree) { t.Main[2], t.Main[3] = t.Main[3], t.Main[2] }, "nothing has computed it"},
		"condition":           {func(t *Tree) { t.Loops[0].While = 1 }, "no condition that is known"},
		"no condition":        {func(t *Tree) { t.Loops[0].While = 1000 }, "depends on value 1000"},
		"condition below":     {func(t *Tree) { t.Loops[0].While = -1 }, "depends on value -1"},
		"no first":            {func(t *Tree) { t.Loops[0].First = nil }, "no condition that is known"},
		"no step":             {func(t *Tree) { t.Loops[0].Step = nil }, "no condition that is known"},
		"no state":            {func(t *Tree) { l := t.Loops[0]; l.Init = l.Init[:1] }, "states of 1, 2 and 2"},
		"begins nowhere":      {func(t *Tree) { t.Loops[0].Init[0] = 1000 }, "begins with value 1000"},
		"begins in a request": {func(t *Tree) { t.Loops[0].Init[0] = t.Inputs[0] }, "begins with value 0"},
		"begins with itself":  {func(t *Tree) { t.Loops[0].Init[0] = t.Loops[0].Current[0] }, "begins with value"},
		"begins early":        {func(t *Tree) { t.Loops[0].Init[0] = 5 }, "begins with value 5"},
		"one place":           {func(t *Tree) { l := t.Loops[0]; l.Next[0] = l.Current[0] }, "cannot be that"},
		"a place for two":     {func(t *Tree) { l := t.Loops[0]; l.Next[1] = l.Next[0] }, "cannot be that"},
		"constant state":      {func(t *Tree) { t.Values[t.Loops[0].Next[1]].Place = InConstant }, "cannot be that"},
		"state of a type":     {func(t *Tree) { t.Values[t.Loops[0].Next[1]].Type = nn.TensorFloat32 }, "cannot be that"},
		"state nowhere":       {func(t *Tree) { t.Loops[0].Next[1] = -5 }, "cannot be that"},
		"branch on nothing":   {func(t *Tree) { t.Main = append(t.Main, &Branch{If: 1000}) }, "branch: it depends on value 1000"},
		"branch on data":      {func(t *Tree) { t.Main = append(t.Main, &Branch{If: 5}) }, "branch: it depends on value 5"},
		"branch first":        {func(t *Tree) { t.Main = slices.Insert(t.Main, 0, Node(&Branch{If: t.Loops[0].While})) }, "branch: it depends"},
		"one side only": {func(t *Tree) {
			n := len(t.Main) - 1
			t.Main[n] = &Branch{If: t.Loops[0].While, Then: Sequence{t.Main[n]}}
		}, "nothing computes output 0"},
		"deep": {func(t *Tree) {
			for range maxNesting + 2 {
				t.Main = append(t.Main[:2:2], &Branch{If: t.Loops[0].While, Then: t.Main[2:]})
			}
		}, "nested more than"},
		"wide": {func(t *Tree) {
			for range maxStoredNodes {
				t.Main = append(t.Main, &Branch{If: t.Loops[0].While})
			}
		}, "regions, branches and loops"},
		"values":  {func(t *Tree) { t.Values = append(t.Values, make([]Value, maxStoredValues)...) }, "at most"},
		"regions": {func(t *Tree) { t.Straights = append(t.Straights, make([]*Straight, maxStoredStraights)...) }, "at most"},
		"steps": {func(t *Tree) {
			for i := range 5 {
				s := region(t, i)
				p := *s.Plan
				p.Steps = make([]plan.Step, plan.MaxSteps/4)
				s.Plan = &p
			}
		}, "steps in all"},
		"no node": {func(t *Tree) { t.Main = append(t.Main, nil) }, "a <nil>"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			tree := planned(t, whileModel())
			cases[name].damage(tree)
			err := tree.Verify(&lavapipe)
			if cases[name].want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, cases[name].want)
		})
	}
}

// FuzzDecodeTree: whatever comes in, DecodeTree does not panic, allocates little, and takes only what EncodeTree makes.
func FuzzDecodeTree(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, tree := range storedTrees(f) {
		data := encoded(f, tree)
		f.Add(data)
		for range 20 {
			c := slices.Clone(data)
			c[rng.IntN(len(c))] ^= byte(1 + rng.IntN(255))
			f.Add(c)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tree, err := DecodeTree(&lavapipe, data)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(256*len(data)+1<<20) {
			t.Errorf("%d bytes allocated for %d", n, len(data))
		}
		if err != nil {
			return
		}
		if again := EncodeTree(tree.Tree, tree.Weights); string(again) != string(data) {
			t.Errorf("% x\ncomes back as\n% x", data, again)
		}
		_ = tree.String()
	})
}
