package main

import (
	"fmt"
	"maps"
	"strings"

	"github.com/nngpu/nngpu/shaders/family"
)

// reduceVariants: the kernels of reduce/.
func reduceVariants() []variant {
	var list []variant
	softmax := func(k family.Softmax, source, macro, value string) {
		v := variant{
			key: k, source: "reduce/" + source, defines: map[string]string{elemMacro(k.Elem): "1"},
		}
		if k.Log {
			v.defines["LOG"] = "1"
		}
		if macro != "" {
			v.defines[macro] = value
		}
		if k.Elem == family.F32 && !k.Column {
			list = append(list, reached(v, func(a family.Access) family.Key { k.Access = a; return k })...)
			return
		}
		list = append(list, v)
	}
	for _, elem := range []family.Elem{family.F32, family.F16} {
		for _, log := range bools {
			softmax(family.Softmax{Log: log, Elem: elem}, "softmax_row.comp", "UNROLL", "2u")
			softmax(family.Softmax{Log: log, Elem: elem, Long: true}, "softmax_row.comp", "UNROLL", "4u")
			softmax(family.Softmax{Log: log, Elem: elem, Column: true}, "softmax_column.comp", "", "")
		}
		for _, column := range bools {
			v := variant{
				key: family.LocalResponse{Column: column, Elem: elem}, source: "reduce/lrn.comp", defines: map[string]string{elemMacro(elem): "1"},
			}
			if column {
				v.defines["COLUMN"] = "1"
			}
			list = append(list, v)
		}
	}
	list = append(list,
		variant{key: family.Softmax{Elem: family.Q8}, source: "reduce/softmax_q8.comp"},
		variant{
			key: family.Softmax{Elem: family.Q8, Column: true}, source: "reduce/softmax_q8.comp",
			defines: map[string]string{"COLUMN": "1"},
		})
	list = append(list, reached(variant{source: "reduce/softmax_q8.comp", defines: map[string]string{"WIDE": "1"}},
		func(a family.Access) family.Key { return family.Softmax{Elem: family.Q8, Wide: true, Access: a} })...)
	for _, t := range [][2]family.Elem{
		{family.F32, family.F32}, {family.F16, family.F32}, {family.F32, family.F16}, {family.F16, family.F16},
		{family.Q8, family.I32}, {family.I32, family.I32}, {family.I32, family.Q8}, {family.Q8, family.Q8},
	} {
		for _, column := range []bool{true, false} {
			source := "reduce/sum_row.comp"
			if column {
				source = "reduce/sum_column.comp"
			}
			list = append(list, widened(variant{source: source, defines: between(t[0], t[1])}, t, func(wide bool, a family.Access) family.Key {
				return family.Sum{Column: column, Wide: wide, From: t[0], To: t[1], Access: a}
			})...)
		}
	}
	list = append(list, teamVariants()...)
	list = append(list, foldVariants()...)
	for _, elem := range computed {
		list = append(list, variant{
			key: family.MeanRuntime{Elem: elem}, source: "reduce/mean_fed.comp",
			defines: between(elem, elem),
		})
	}
	list = append(list, variant{name: "topk_merge", source: "reduce/topk.comp", defines: map[string]string{"MERGE": "1"}})
	for _, elem := range stored {
		list = append(list, variant{
			key: family.TopKSort{Elem: elem}, source: "reduce/topk.comp", defines: map[string]string{"SORT": "1", elemMacro(elem): "1"},
		})
	}
	for _, bytes := range []int{1, 2, 4} {
		list = append(list, variant{
			key: family.TopKTake{Bytes: bytes}, source: "reduce/topk.comp", defines: map[string]string{"TAKE": "1", "ELEM": fmt.Sprint(bytes)},
		})
	}
	return list
}

// teamVariants: rows that several invocations go through together.
func teamVariants() []variant {
	var list []variant
	add := func(team family.Team, key family.Key, source string, defines map[string]string) {
		subgroups := map[family.Team]uint32{family.Subgroup: family.TeamRows, family.Workgroup: family.TeamSubgroups}[team]
		defines["WORKGROUP"], defines["TEAMS"] = digit(team == family.Workgroup), fmt.Sprint(family.TeamRows)
		list = append(list, variant{key: key, source: source, defines: defines, subgroups: subgroups})
	}
	for _, team := range []family.Team{family.Subgroup, family.Workgroup} {
		for _, elem := range []family.Elem{family.F32, family.F16} {
			for _, log := range bools {
				defines := map[string]string{elemMacro(elem): "1"}
				if log {
					defines["LOG"] = "1"
				}
				add(team, family.Softmax{Log: log, Elem: elem, Team: team}, "reduce/softmax_team.comp", defines)
			}
		}
		add(team, family.Softmax{Elem: family.Q8, Team: team}, "reduce/softmax_q8_team.comp", map[string]string{})
		for _, t := range [][2]family.Elem{{family.F32, family.F32}, {family.F32, family.F16}, {family.F16, family.F16}} {
			add(team, family.Sum{From: t[0], To: t[1], Team: team}, "reduce/sum_team.comp", between(t[0], t[1]))
		}
	}
	return list
}

// between are the macros of element types of a kernel that reads and writes different ones.
func between(from, to family.Elem) map[string]string {
	return map[string]string{"FROM_" + strings.ToUpper(string(from)): "1", "TO_" + strings.ToUpper(string(to)): "1"}
}

// foldVariants: the largest and the smallest keep their type, products of float16 are float32 between stages.
func foldVariants() []variant {
	type types = [2]family.Elem
	extremes := []types{{family.F32, family.F32}, {family.F16, family.F16}, {family.Q8, family.Q8}}
	places := []types{{family.Keyed, family.Keyed}, {family.Keyed, family.I32}}
	for _, from := range stored {
		places = append(places, types{from, family.Keyed}, types{from, family.I32})
	}
	var list []variant
	for _, fold := range []struct {
		op    family.FoldOp
		types []types
	}{
		{family.FoldMax, extremes},
		{family.FoldMin, extremes},
		{family.FoldProd, []types{{family.F32, family.F32}, {family.F16, family.F32}, {family.F32, family.F16}, {family.F16, family.F16}}},
		{family.FoldPlace, places},
	} {
		for _, t := range fold.types {
			for _, column := range bools {
				v := variant{source: "reduce/fold.comp", defines: between(t[0], t[1])}
				v.defines["FOLD_"+strings.ToUpper(string(fold.op))] = "1"
				if column {
					v.defines["COLUMN"] = "1"
				}
				list = append(list, widened(v, t, func(wide bool, a family.Access) family.Key {
					return family.Fold{Op: fold.op, Column: column, Wide: wide, From: t[0], To: t[1], Access: a}
				})...)
			}
		}
	}
	return list
}

// widened are v, a reduction between the types t, and what it is in ways to read x that are fewer and larger loads: texels of
// f32, groups of 16 bytes in both. See reduce/reach.glsl.
func widened(v variant, t [2]family.Elem, of func(wide bool, a family.Access) family.Key) []variant {
	list := reached(v, func(a family.Access) family.Key { return of(false, a) })
	switch {
	case t[0] == family.Q8:
		v.defines = maps.Clone(v.defines)
		v.defines["WIDE"] = "1"
		return append(list[:1], reached(v, func(a family.Access) family.Key { return of(true, a) })...)
	case t[0] == family.F32 && t[1] != family.F16:
		return list
	}
	return list[:1]
}
