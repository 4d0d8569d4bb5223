package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"go.yaml.in/yaml/v3"

	"github.com/mintlake/mintlake/internal/nearest"
)

// checkFile returns the line of each setting in a YAML file. Its error names every key that is no
// setting, with its line and the setting that may be meant.
func checkFile(path string, list []key) (lines map[string]int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	check := fileCheck{path: path, known: map[string]bool{}, groups: map[string]bool{}, lines: map[string]int{}}
	for _, leaf := range list {
		check.add(leaf.path)
		if leaf.secret {
			check.add(leaf.file().path)
		}
	}
	if len(document.Content) > 0 {
		check.walk("", document.Content[0])
	}
	return check.lines, errors.Join(check.problems...)
}

// fileCheck is one run of checkFile.
type fileCheck struct {
	path          string
	names         []string        // of all settings
	known, groups map[string]bool // the names as a set; the groups of settings, such as "api"
	lines         map[string]int
	problems      []error
}

// add adds a setting and the groups that it is in.
func (c *fileCheck) add(path string) {
	c.names, c.known[path] = append(c.names, path), true
	for i := range path {
		if path[i] == '.' {
			c.groups[path[:i]] = true
		}
	}
}

// walk checks the keys of one mapping. prefix is the path of the mapping with a dot, or empty. An
// alias is followed wherever it is used: YAML refuses aliases that contain themselves.
func (c *fileCheck) walk(prefix string, node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		if node.Tag != "!!null" {
			c.bad(node, "%s needs keys of its own", strings.TrimSuffix(prefix, "."))
		}
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Tag == "!!merge" {
			c.walk(prefix, value)
			continue
		}
		path := prefix + name.Value
		switch {
		case c.known[path]:
			c.lines[path] = name.Line
		case c.groups[path]:
			c.walk(path+".", value)
		default:
			c.bad(name, "there is no setting %s%s", path, nearest.Hint(path, c.names))
		}
	}
}

func (c *fileCheck) bad(at *yaml.Node, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s line %d: %s", c.path, at.Line, fmt.Sprintf(format, args...)))
}

// placed adds to each error about a value of a wrong type the line of the file that the value is
// on.
func placed(err error, path string, lines map[string]int) error {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var problems []error
		for _, one := range several.Unwrap() {
			problems = append(problems, placed(one, path, lines))
		}
		return errors.Join(problems...)
	}
	var decode *mapstructure.DecodeError
	if errors.As(err, &decode) {
		if lines[decode.Name()] == 0 {
			return decode
		}
		return fmt.Errorf("%s line %d: %s: %w", path, lines[decode.Name()], decode.Name(), decode.Unwrap())
	}
	if inner := errors.Unwrap(err); inner != nil {
		return placed(inner, path, lines)
	}
	return err
}
