package silent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sysfsd/sysfsd/attr"
	"github.com/sysfsd/sysfsd/netdev"
)

const (
	// Link-watch lets a carrier wait for a second at most.
	linkWatch = 1150 * time.Millisecond
	// All else is announced before the system call returns.
	atOnce = 20 * time.Millisecond
	// Silence is how long nothing must be heard.
	silence = 30 * time.Millisecond
	// Patience is how many times more we wait before we call a change silent that
	// should have been announced.
	patience = 4
)

// runner turns the knobs of one scene.
type runner struct {
	*stage
	mirror *mirror
	tables tables
	before look
	seen   []observation
	bad    []violation
	// carrierMoved says what the last knob did; if it moved none, turning it back
	// will move none.
	carrierMoved bool
	// refused are the knobs that the device doesn't have.
	refused []string
}

// run builds a scene, turns the knobs that want does not exclude, and returns
// what it saw.
func run(t *testing.T, sc *scene, tb tables, want func(knob) bool) *runner {
	t.Helper()
	s := sc.build(t)
	r := &runner{stage: s, tables: tb, mirror: newMirror(t, s.ns)}
	r.mirror.quiet(linkWatch, silence)
	r.start()
	first := r.before
	s.before = first.real
	for i, k := range slices.Concat(knobs, writes(s)) {
		if !sc.mine(i) || !want(k) || k.applies != nil && !k.applies(s) {
			continue
		}
		r.turn(k)
		if back := difference(first, r.before); back != "" {
			t.Errorf("%s: knob %q was not turned back: %s", sc.name(), k.name, back)
			return r
		}
	}
	return r
}

// start dumps, and holds what was decoded against the files.
func (r *runner) start() {
	r.mirror.dump()
	r.mirror.reset()
	l := r.look()
	r.note(knob{name: "none, after a dump", via: "outside"}, r.judge(look{real: l.real}, l))
	r.before = l
}

func (r *runner) look() look {
	v := r.mirror.view()
	// A lo that is not the subject has nothing to do with the others.
	except := "lo"
	if r.subject() == except {
		except = ""
	}
	return look{v, takeSnapshot(r.t, r.sysfs, except)}
}

// turn turns a knob and turns it back.
func (r *runner) turn(k knob) {
	r.stage.before = r.before.real
	if err := r.once(k, k.turn); err != nil {
		r.refused = append(r.refused, k.name+": "+err.Error())
		if k.back == nil || !r.moved() {
			return
		}
	}
	if k.back == nil {
		return
	}
	name := k.name
	k.name += ", back"
	k.slow = k.slow && r.carrierMoved
	if err := r.once(k, k.back); err != nil {
		r.refused = append(r.refused, name+", back: "+err.Error())
	}
}

// moved reports that a knob that was refused changed something all the same.
func (r *runner) moved() bool {
	return difference(look{real: r.stage.before}, r.before) != "" || len(r.before.heard) > 0
}

// once does something, waits until all was announced that will be, and judges.
func (r *runner) once(k knob, do action) error {
	// What reading the files has flushed belongs to the knob before.
	r.mirror.quiet(0, 5*time.Millisecond)
	r.mirror.reset()
	err := do(r.stage)
	least := atOnce
	if k.slow && err == nil {
		least = linkWatch
	}
	r.mirror.quiet(least, silence)
	j := r.judge(r.before, r.look())
	// Late is not silent: link-watch takes a hundred devices a second, whoever's
	// they are, and what stands on a device hears of it only then.
	for tries := 0; len(j.bad) > 0 && tries < patience; tries++ {
		r.mirror.quiet(linkWatch, silence)
		j = r.judge(r.before, r.look())
	}
	r.note(k, j)
	r.carrierMoved = carrierMoved(j)
	r.before = j.after
	return err
}

func (r *runner) judge(before, after look) judge {
	j := judge{tables: r.tables, before: before, after: after}
	j.run()
	return j
}

// carrierMoved reports that a device came, went, or has another carrier.
func carrierMoved(j judge) bool {
	if len(j.before.real) != len(j.after.real) {
		return true
	}
	for index, d := range j.after.real {
		was := j.before.real[index]
		if was == nil {
			return true
		}
		for _, path := range []string{"carrier", "carrier_changes", "operstate", "brport/state"} {
			if was.files[path] != d.files[path] {
				return true
			}
		}
	}
	return false
}

// note keeps what was found.
func (r *runner) note(k knob, j judge) {
	for _, v := range j.bad {
		v.scene, v.knob = r.name(), k.name
		r.bad = append(r.bad, v)
	}
	for _, o := range j.seen {
		if drifting.MatchString(o.path) && k.name != "traffic" && k.name != "port learns" {
			continue
		}
		o.scene, o.knob, o.via = r.name(), k.name, k.via
		r.seen = append(r.seen, o)
	}
}

// difference says how two looks differ in what later knobs depend on.
func difference(a, b look) string {
	describe := func(l look) []string {
		var all []string
		for _, d := range l.real {
			up := d.files["carrier"] != "errno:EINVAL"
			all = append(all, fmt.Sprintf("%s up %t master %q", d.name, up, d.names["master"]))
		}
		slices.Sort(all)
		return all
	}
	is, should := describe(b), describe(a)
	if slices.Equal(is, should) {
		return ""
	}
	return "is " + strings.Join(is, "; ") + ", was " + strings.Join(should, "; ")
}

// wrongRows returns the table with some rows replaced by others.
func wrongRows(change map[string]func(*attr.Row)) []attr.Row {
	rows := slices.Clone(attr.Rows)
	left := maps.Clone(change)
	for i := range rows {
		if f := left[rows[i].Path]; f != nil {
			f(&rows[i])
			delete(left, rows[i].Path)
		}
	}
	if len(left) > 0 {
		panic("silent: no such row")
	}
	return rows
}

// always is a condition that every link meets.
var always = &attr.Condition{Text: "always", Holds: func(*netdev.Link) bool { return true }}
