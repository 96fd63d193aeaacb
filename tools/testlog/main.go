// Command testlog reads the events of "go test -json" and prints what a reader of a log
// wants: the summary line of each package, each skipped test with its reason, and all that
// a failed package said. It fails if a test failed, or was skipped without leave.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	names := flag.Bool("names", false, "name the tests that passed, too")
	allow := flag.String("allow", "", "`file` with a regular expression a line: other tests must not be skipped")
	flag.Parse()
	ok, err := run(os.Stdin, os.Stdout, *names, *allow)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func run(r io.Reader, w io.Writer, names bool, allow string) (bool, error) {
	l := logger{out: bufio.NewWriter(w), names: names, packages: map[string]*results{}}
	if allow != "" {
		patterns, err := readPatterns(allow)
		if err != nil {
			return false, err
		}
		l.allowed = patterns
		l.strict = true
	}
	return l.copy(r)
}

// readPatterns returns the expressions in a file; "#" begins a comment.
func readPatterns(file string) ([]*regexp.Regexp, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var patterns []*regexp.Regexp
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		p, err := regexp.Compile("^(?:" + line + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// event is one line of go test -json; "go doc test2json" explains it.
type event struct {
	Action, Package, Test, Output string
}

// logger prints each package when it is done, so that packages do not mix.
type logger struct {
	out      *bufio.Writer
	names    bool
	strict   bool // a skipped test that is not allowed is a failure
	allowed  []*regexp.Regexp
	packages map[string]*results
	failed   bool
}

// results of the package that is running.
type results struct {
	own     []string            // what the package itself said, its summary line last
	order   []string            // tests in the order they began
	output  map[string][]string // of each test
	outcome map[string]string   // pass, fail, skip; none: never ended
}

func (l *logger) copy(r io.Reader) (bool, error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			l.line(line)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return !l.failed, errors.Join(err, l.out.Flush())
	}
}

func (l *logger) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		l.print(string(line))
		return
	}
	switch e.Action {
	case "build-output":
		l.print(e.Output)
	case "build-fail":
		l.failed = true
	default:
		l.test(e)
	}
}

func (l *logger) test(e event) {
	p := l.packages[e.Package]
	if p == nil {
		p = &results{output: map[string][]string{}, outcome: map[string]string{}}
		l.packages[e.Package] = p
	}
	switch e.Action {
	case "run":
		p.order = append(p.order, e.Test)
	case "output":
		if e.Test == "" {
			p.own = append(p.own, e.Output)
		} else {
			p.output[e.Test] = append(p.output[e.Test], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			p.outcome[e.Test] = e.Action
			break
		}
		l.done(e.Package, e.Action, p)
		delete(l.packages, e.Package)
	}
}

// done prints a package that has ended.
func (l *logger) done(name, outcome string, p *results) {
	if outcome == "fail" {
		l.failed = true
	}
	for _, test := range p.order {
		said := p.output[test]
		switch p.outcome[test] {
		case "pass":
			if l.names && !strings.Contains(test, "/") {
				l.print(said[len(said)-1])
			}
		case "skip":
			l.skip(name, test, said)
		default:
			l.print(strings.Join(said, ""))
		}
	}
	for i, line := range p.own {
		if last := i == len(p.own)-1; last || outcome == "fail" && line != "FAIL\n" {
			l.print(line)
		}
	}
	l.failed = l.out.Flush() != nil || l.failed
}

// skip prints a skipped test, whose reason is what it said before the line "--- SKIP".
func (l *logger) skip(name, test string, said []string) {
	verdict := "--- SKIP"
	if l.strict && !l.mayskip(name+"."+test) {
		verdict = "--- FAIL (skipped, not in the list of tests that may be)"
		l.failed = true
	}
	var reason []string
	for _, line := range said {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			reason = append(reason, line)
		}
	}
	l.print(fmt.Sprintf("%s: %s: %s\n", verdict, test, strings.Join(reason, " ")))
}

func (l *logger) mayskip(test string) bool {
	for _, p := range l.allowed {
		if p.MatchString(test) {
			return true
		}
	}
	return false
}

// print keeps the first error in the writer; Flush returns it.
func (l *logger) print(text string) {
	_, _ = l.out.WriteString(text)
}
