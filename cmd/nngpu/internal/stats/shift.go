// Package stats compares and sums up measured times, which have long tails.
package stats

import (
	"math"
	"slices"
	"time"
)

// How far one sample lies from another, without an assumption on their distribution: measured times have long tails.
// The estimators are those of Hodges and Lehmann, the intervals those that belong to Wilcoxon's tests, at 95 %. From
// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, 3.2 and 3.3 (paired), 4.2 and 4.3.

const (
	// significance is the probability that an interval leaves out the truth.
	significance = 0.05
	// normalQuantile is that of 1 - significance/2.
	normalQuantile = 1.959964
	// MaxSamples bounds the samples that are compared, because all pairs of them are.
	MaxSamples = 512
)

// Estimate is that of a shift. Without Bounded there were too few values for an interval.
type Estimate struct {
	Shift, Low, High float64
	Bounded          bool
}

// Paired says how far values of after lie above those of before with the same index. Precondition: as many of
// both, at least one.
func Paired(before, after []float64) Estimate {
	n := len(before)
	var walsh []float64 // means of all pairs of differences, also of each with itself
	for i := range n {
		for j := i; j < n; j++ {
			walsh = append(walsh, (after[i]-before[i]+after[j]-before[j])/2)
		}
	}
	return interval(walsh, signedRankBound(n))
}

// Unpaired is Paired for values that have nothing to do with each other.
func Unpaired(before, after []float64) Estimate {
	var differences []float64
	for _, b := range before {
		for _, a := range after {
			differences = append(differences, a-b)
		}
	}
	return interval(differences, rankSumBound(len(before), len(after)))
}

// interval leaves out so many values at either end; a negative number means that there is none.
func interval(values []float64, outside int) Estimate {
	slices.Sort(values)
	e := Estimate{Shift: Median(values)}
	if last := len(values) - 1 - outside; outside >= 0 && outside <= last {
		e.Low, e.High, e.Bounded = values[outside], values[last], true
	}
	return e
}

// signedRankBound is the largest number that Wilcoxon's signed-rank statistic of n differences does not exceed with a
// probability of half the significance, so that so many means lie outside of the interval at either end; -1 for less
// than 6 differences.
func signedRankBound(n int) int {
	if n > 60 { // the normal approximation
		m, v := float64(n)*float64(n+1)/4, float64(n)*float64(n+1)*float64(2*n+1)/24
		return int(math.Floor(m - normalQuantile*math.Sqrt(v) - 0.5))
	}
	// ways is how many of the 2^n signs give each sum of ranks.
	ways := make([]float64, n*(n+1)/2+1)
	ways[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := len(ways) - 1; sum >= rank; sum-- {
			ways[sum] += ways[sum-rank]
		}
	}
	return quantileBound(ways, math.Exp2(float64(n)))
}

// rankSumBound is the same for the statistic of Mann and Whitney.
func rankSumBound(n, m int) int {
	if n+m > 40 { // the normal approximation
		mean, v := float64(n)*float64(m)/2, float64(n)*float64(m)*float64(n+m+1)/12
		return int(math.Floor(mean - normalQuantile*math.Sqrt(v) - 0.5))
	}
	// ways[k][u]: how many choices of k of the values so far give the statistic u.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, n*m+1)
	}
	ways[0][0] = 1
	for rank := range n + m { // the value of this rank is the k-th chosen, above rank-k+1 of the others
		for k := min(n, rank+1); k >= 1; k-- {
			for u := n*m - (rank - k + 1); u >= 0; u-- {
				if rank-k+1 <= m {
					ways[k][u+rank-k+1] += ways[k-1][u]
				}
			}
		}
	}
	total := 0.0
	for _, w := range ways[n] {
		total += w
	}
	return quantileBound(ways[n], total)
}

// quantileBound is the largest index up to which ways sum up to half the significance of total; -1 where the first
// exceeds it.
func quantileBound(ways []float64, total float64) int {
	sum := 0.0
	for i, w := range ways {
		if sum += w; sum > total*significance/2 {
			return i - 1
		}
	}
	return len(ways) - 1
}

// Median is the median. Precondition: there are values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Logs are the logarithms of values.
func Logs(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Log(v)
	}
	return list
}

// Thin takes at most n values, at equal distances.
func Thin(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	list := make([]float64, n)
	for i := range list {
		list[i] = values[i*len(values)/n]
	}
	return list
}

// Quantile is a value of a sorted list: the smallest for q 0, the largest for q 1; zero of an empty one.
func Quantile[T any](sorted []T, q float64) (value T) {
	if len(sorted) > 0 {
		value = sorted[int(q*float64(len(sorted)-1)+0.5)]
	}
	return value
}

// Milliseconds is d as a number.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
