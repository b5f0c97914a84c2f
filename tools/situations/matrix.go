//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The goals: see docs/verdict.md.
const (
	mostInvalidFree   = 0.02 // of healthy runs with a free core
	mostInvalidShared = 0.10 // of healthy runs that share one core with the server
)

func (f *finished) falsePass() bool { return f.Truth != truthPass && f.Verdict == "pass" }

var (
	truths       = []truth{truthPass, truthFail, truthInvalid, truthNotPass, truthDown, truthRefused}
	verdictNames = []string{"pass", "fail", "invalid", verdictDown, verdictRefused, verdictError}
)

// report prints the matrix, the families and every wrong verdict. It returns an error that names the goals that are not
// reached.
func report(w io.Writer, all []*finished) error {
	var known, void []*finished
	for _, f := range all {
		if f.Void != "" && !f.falsePass() {
			void = append(void, f)
		} else {
			known = append(known, f)
		}
	}
	slices.SortFunc(all, func(a, b *finished) int { return strings.Compare(a.Name, b.Name) })
	printMatrix(w, known)
	fmt.Fprintln(w)
	printFamilies(w, all)
	fmt.Fprintln(w)
	if len(void) > 0 {
		fmt.Fprintf(w, "%d situations are left out of the matrix: something else disturbed the machine in each attempt.\n\n",
			len(void))
	}
	for _, f := range all {
		if !f.Right {
			printWrong(w, f)
		}
	}
	return goals(w, known)
}

// printMatrix prints how often each verdict occurred for each truth, in Markdown.
func printMatrix(w io.Writer, known []*finished) {
	fmt.Fprintf(w, "| Truth \\ verdict | %s |\n|---|%s\n", strings.Join(verdictNames, " | "),
		strings.Repeat("---:|", len(verdictNames)))
	for _, t := range truths {
		fmt.Fprintf(w, "| %s |", t)
		for _, v := range verdictNames {
			n := 0
			for _, f := range known {
				if f.Truth == t && f.Verdict == v {
					n++
				}
			}
			cell := fmt.Sprint(n)
			if n > 0 && !t.allows(v) {
				cell = "**" + cell + "**"
			}
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
}

// printFamilies prints the numbers of right, wrong and disturbed runs by family.
func printFamilies(w io.Writer, all []*finished) {
	fmt.Fprintln(w, "| Family | Truth | Runs | Right | Wrong | Disturbed |\n|---|---|---:|---:|---:|---:|")
	for _, fam := range families() {
		var runs, right, wrong, void int
		for _, f := range all {
			if f.Family != fam.name {
				continue
			}
			runs++
			switch {
			case f.Void != "" && !f.falsePass():
				void++
			case f.Right:
				right++
			default:
				wrong++
			}
		}
		if runs > 0 {
			fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d |\n", fam.name, fam.truth, runs, right, wrong, void)
		}
	}
}

func printWrong(w io.Writer, f *finished) {
	fmt.Fprintf(w, "%s: truth %s, verdict %s\n  because %s\n  %s\n  bundle %s, exit %d\n", f.Name, f.Truth, f.Verdict,
		f.Why, f.Command, f.Bundle, f.Exit)
	if f.Void != "" {
		fmt.Fprintf(w, "  disturbed: %s\n", f.Void)
	}
	for _, r := range f.Reasons {
		fmt.Fprintf(w, "  said: %s\n", r)
	}
	if f.Verdict == verdictError {
		fmt.Fprintf(w, "  standard error: %s\n", f.Said)
	}
	fmt.Fprintln(w)
}

// goals prints each goal and whether it is reached. It returns an error that names those that are not.
func goals(w io.Writer, known []*finished) error {
	var passes, invalidFree, free, invalidShared, shared, failed int
	for _, f := range known {
		if f.falsePass() {
			passes++
		}
		if f.Truth != truthPass {
			continue
		}
		if f.Verdict == "fail" {
			failed++
		}
		invalid := 0
		if f.Verdict == "invalid" {
			invalid = 1
		}
		if f.Family == healthyTogether {
			shared, invalidShared = shared+1, invalidShared+invalid
		} else {
			free, invalidFree = free+1, invalidFree+invalid
		}
	}
	var broken []error
	say := func(holds bool, format string, args ...any) {
		text, mark := fmt.Sprintf(format, args...), "holds"
		if !holds {
			mark = "DOESN'T HOLD"
			broken = append(broken, errors.New(text))
		}
		fmt.Fprintf(w, "goal %s: %s\n", mark, text)
	}
	say(passes == 0, "no false PASS: %d", passes)
	say(failed == 0, "no false FAIL of healthy runs: %d", failed)
	say(float64(invalidFree) <= mostInvalidFree*float64(free),
		"false INVALID of healthy runs with a free core, at most %.0f %%: %d of %d", 100*mostInvalidFree, invalidFree, free)
	say(float64(invalidShared) <= mostInvalidShared*float64(shared),
		"false INVALID of healthy runs that share a core with the server, at most %.0f %%: %d of %d", 100*mostInvalidShared,
		invalidShared, shared)
	return errors.Join(broken...)
}
