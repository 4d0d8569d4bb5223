// Package table is the table of all suites of tests: what each one runs and needs, and which of
// them make test, .ci/run and make test-all are made of.
package table

import (
	"bytes"
	_ "embed" // for suites.yaml
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed suites.yaml
var file []byte

// Table is suites.yaml, which says what each field is.
type Table struct {
	Needs, Packages, Race map[string]string
	Suites                []Suite
}

// Suite is what is run as a whole and has one verdict.
type Suite struct {
	Name, What string
	In         []string
	Minutes    int
	Needs      []string
	Make       string
	Go, Covers []Tests
}

// Tests is a call of go test.
type Tests struct {
	Env              map[string]string
	Module, Flags    string
	Packages, Except Words
	Run, Skip        Words
}

// Words are written as one text, as a list, or as a list of texts with several words each.
type Words []string

// UnmarshalYAML takes the words of a text or of the texts of a list.
func (w *Words) UnmarshalYAML(node *yaml.Node) error {
	texts := make([]string, 1)
	var err error
	if node.Kind == yaml.ScalarNode {
		err = node.Decode(&texts[0])
	} else {
		err = node.Decode(&texts)
	}
	*w = strings.Fields(strings.Join(texts, " "))
	return err
}

// Pattern returns a regular expression that matches a name if it is one of the words.
func (w Words) Pattern() string { return "^(" + strings.Join(w, "|") + ")$" }

// Load reads the table.
func Load() (*Table, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	decoder.KnownFields(true)
	t := new(Table)
	if err := decoder.Decode(t); err != nil {
		return nil, fmt.Errorf("tools/suites/table/suites.yaml: %w", err)
	}
	return t, nil
}

// Has says whether go test runs the test. module and tag are the module and the build tag of the
// test, folder is the folder of its package below that of the module.
func (t Tests) Has(module, tag, folder, test string) bool {
	switch {
	case module != t.Module || tag != "" && !strings.Contains(t.Flags, "-tags "+tag):
		return false
	case strings.Contains(t.Flags, "-short"): // much is left out then
		return false
	case !t.Packages.Hold(folder) || t.Except.Hold(folder):
		return false
	case len(t.Run) > 0 && !matches(t.Run, test):
		return false
	}
	return len(t.Skip) == 0 || !matches(t.Skip, test)
}

// Hold says whether the folder is of one of the patterns, such as ./e2e or ./e2e/... .
func (w Words) Hold(folder string) bool {
	for _, pattern := range w {
		parent, below := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "...")
		if folder == strings.TrimSuffix(parent, "/") || below && strings.HasPrefix(folder, parent) {
			return true
		}
	}
	return false
}

func matches(words Words, test string) bool {
	return regexp.MustCompile(words.Pattern()).MatchString(test)
}
