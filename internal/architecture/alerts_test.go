package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
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
		Rules []rule
	}
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// runbooksAt is where the page of runbooks is read.
const runbooksAt = "https://github.com/mintlake/mintlake/blob/main/docs/runbooks.md#"

var metricName = regexp.MustCompile(`\bmintlake_[a-z0-9_]+`)

// The chart has the alerts as a file of its own: it cannot read outside of its folder, and a link
// does not survive every copy of a repository.
func TestTheChartHasTheAlerts(t *testing.T) {
	ours, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/alerts/mintlake.yml"))
	require.NoError(t, err)
	chart, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/helm/mintlake/files/alerts.yml"))
	require.NoError(t, err)
	require.True(t, string(ours) == string(chart), "deploy/helm/mintlake/files/alerts.yml is not deploy/alerts/mintlake.yml: run make gen")
}

// An alert on a metric that does not exist never fires: every one that the rules name is made
// somewhere in the code.
func TestAlertsNameMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/alerts/mintlake.yml"))
	require.NoError(t, err)
	var file rules
	require.NoError(t, yaml.Unmarshal(data, &file))
	exists := metricsInCode(t)
	runbooks, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs/runbooks.md"))
	require.NoError(t, err)
	alerts := map[string]bool{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Alert)
			require.False(t, alerts[rule.Alert], "%s twice", rule.Alert)
			alerts[rule.Alert] = true
			require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			require.NotEmpty(t, rule.Annotations["description"], rule.Alert)
			require.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
			require.Equal(t, runbooksAt+strings.ToLower(rule.Alert), rule.Annotations["runbook"])
			require.Contains(t, string(runbooks), "\n### "+rule.Alert+"\n", "docs/runbooks.md")
			named := metricName.FindAllString(rule.Expr, -1)
			// it looks at Prometheus' own metric; the operator's jobs are namespace/name
			if rule.Alert == "MintlakeProcessDown" {
				require.Contains(t, rule.Expr, `job=~".*mintlake.*"`)
			} else {
				require.NotEmpty(t, named, rule.Alert)
			}
			for _, name := range append(named, metricName.FindAllString(rule.Annotations["description"], -1)...) {
				require.True(t, exists(name), "%s names %s, which no code makes", rule.Alert, name)
			}
		}
	}
	require.GreaterOrEqual(t, len(alerts), 38)
	for _, heading := range regexp.MustCompile(`(?m)^### (Mintlake\w+)$`).FindAllStringSubmatch(string(runbooks), -1) {
		require.True(t, alerts[heading[1]], "docs/runbooks.md has a runbook of %s, which is no alert", heading[1])
	}
	require.False(t, exists("mintlake_source_no_such_thing_total"), "the test tells what exists from what does not")
}

// TestAlertsFire has promtool check the rules and run their tests: each alert fires when it should,
// and none when all is well.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("MINTLAKE_REQUIRE_SHARED") != "" {
			t.Fatal("promtool is not installed: apt-get install prometheus")
		}
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	folder := filepath.Join(testkit.Root(t), "deploy/alerts")
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", filepath.Join(folder, "mintlake.yml")).CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(filepath.Join(folder, "mintlake.yml"))
	require.NoError(t, err)
	var file rules
	require.NoError(t, yaml.Unmarshal(data, &file))
	for _, group := range file.Groups {
		name := filepath.Join(folder, "tests", strings.TrimPrefix(group.Name, "mintlake-")+".yml")
		out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", name).CombinedOutput()
		require.NoError(t, err, string(out))
		holdAlertTests(t, name, group.Rules)
	}
}

// holdAlertTests: each alert of a group has a test that expects it, and the test of calm has all
// metrics of the group, as nothing fires where there is nothing.
func holdAlertTests(t *testing.T, path string, group []rule) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		Tests []struct {
			Name   string
			Series []struct{ Series string } `yaml:"input_series"`
			Exprs  []struct {
				Expected []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &file))
	calm, fires := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, expr := range test.Exprs {
			for _, expected := range expr.Expected {
				fires[expected.Labels] = true
			}
		}
		if test.Name != "all is well" {
			continue
		}
		for _, series := range test.Series {
			calm[metricName.FindString(series.Series)] = true
		}
		for _, expr := range test.Exprs {
			require.Empty(t, expr.Expected)
		}
	}
	for _, r := range group {
		require.True(t, fires[fmt.Sprintf(`{alertname=%q, severity=%q}`, r.Alert, r.Labels["severity"])], "no test of %s in %s", r.Alert, path)
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			require.True(t, calm[name], "the test of calm in %s has no %s", path, name)
		}
	}
}

// metricsInCode says whether a metric is made: its name stands in a Go file as a string, or as a
// prefix and the rest in one file.
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
			return nil // the compiler will say so
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
