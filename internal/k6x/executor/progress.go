//go:build !nok6

package executor

import (
	"reflect"
	"time"
	"unsafe"
)

// How k6's progress bars mark what became of a scenario.
const (
	atWork = ' '
	whole  = '✓'
	cutOff = '✗'
)

// show lets the progress bar whose method modify is show progress: which share of the scenario is over, and
// what stands behind the bar. k6 keeps the type of its bars to itself, though executors of others have them:
// so two fields are set by their names, or, if they aren't there, the bar stays as k6 made it.
func show[Bar any, Option ~func(*Bar)](modify func(...Option), status rune, progress func() (float64, []string)) {
	modify(func(bar *Bar) {
		for name, value := range map[string]any{"status": status, "progress": progress} {
			field, v := reflect.ValueOf(bar).Elem().FieldByName(name), reflect.ValueOf(value)
			if field.IsValid() && v.CanConvert(field.Type()) {
				reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(v.Convert(field.Type()))
			}
		}
	})
}

// showEnd lets it show what progress came to.
func showEnd[Bar any, Option ~func(*Bar)](modify func(...Option), complete bool, progress func() (float64, []string)) {
	share, behind := progress()
	status := cutOff
	if complete {
		status, share = whole, 1
	}
	show(modify, status, func() (float64, []string) { return share, behind })
}

// passed is which share of length is over, with texts that say more. A length of 0 isn't known.
func passed(begun time.Time, length time.Duration, more ...string) (share float64, behind []string) {
	if length == 0 {
		return 0, more
	}
	spent := min(time.Since(begun), length)
	text := length.String()
	if spent < length {
		share = float64(spent) / float64(length)
		text = spent.Truncate(100*time.Millisecond).String() + "/" + text
	} else {
		share = 1
	}
	return share, append([]string{text}, more...)
}
