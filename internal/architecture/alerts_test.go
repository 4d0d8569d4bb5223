package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mintlake/mintlake/internal/testkit"
)

// rules is a file of Prometheus alert rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

var metricName = regexp.MustCompile(`\bmintlake_[a-z0-9_]+`)

// An alert on a metric that does not exist never fires: every one that the rules name is made somewhere in the code.
func TestAlertsNameMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/alerts/mintlake.yml"))
	require.NoError(t, err)
	var file rules
	require.NoError(t, yaml.Unmarshal(data, &file))
	exists := metricsInCode(t)
	alerts := map[string]bool{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Alert)
			require.False(t, alerts[rule.Alert], "%s twice", rule.Alert)
			alerts[rule.Alert] = true
			require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
			named := metricName.FindAllString(rule.Expr, -1)
			require.NotEmpty(t, named, rule.Alert)
			for _, name := range append(named, metricName.FindAllString(rule.Annotations["description"], -1)...) {
				require.True(t, exists(name), "%s names %s, which no code makes", rule.Alert, name)
			}
		}
	}
	require.GreaterOrEqual(t, len(alerts), 10)
	require.False(t, exists("mintlake_source_no_such_thing_total"), "the test tells what exists from what does not")
}

// metricsInCode says whether a metric is made: its name stands in a Go file as a string, or as a prefix and the rest in one file.
func metricsInCode(t *testing.T) func(string) bool {
	t.Helper()
	files := [][]string{}
	require.NoError(t, filepath.WalkDir(testkit.Root(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(source), `"mintlake_`) {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			return nil //nolint:nilerr // the compiler will say so
		}
		var texts []string
		ast.Inspect(tree, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					texts = append(texts, text)
				}
			}
			return true
		})
		files = append(files, texts)
		return nil
	}))
	return func(name string) bool {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} { // of a histogram
			base, ok := strings.CutSuffix(name, suffix)
			for _, texts := range files {
				if ok && made(texts, base) {
					return true
				}
			}
		}
		return false
	}
}

func made(texts []string, name string) bool {
	has := func(want string) bool {
		for _, text := range texts {
			if text == want {
				return true
			}
		}
		return false
	}
	if has(name) {
		return true
	}
	for _, prefix := range texts {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && strings.HasPrefix(prefix, "mintlake_") && strings.HasSuffix(prefix, "_") && has(rest) {
			return true
		}
	}
	return false
}
