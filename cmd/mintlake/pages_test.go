package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mintlake/mintlake/internal/config"
	"github.com/mintlake/mintlake/internal/testkit"
)

// docs/configuration.md is what make gen writes from the code.
func TestPageOfSettingsIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "configuration.md"))
	require.NoError(t, err)
	require.Equal(t, strings.Split(config.Page(defaults()), "\n"), strings.Split(string(page), "\n"), "run make gen")
}

// docs/commands.md too.
func TestPageOfCommandsIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "commands.md"))
	require.NoError(t, err)
	require.Equal(t, strings.Split(commandsPage(rootCommand()), "\n"), strings.Split(string(page), "\n"), "run make gen")
}

// piece is a part of a page that is set as code: a span between backticks, or a line of a block.
type piece struct {
	at   string // page:line
	text string
	// language of the block, "span" for a span, "cell" for a span in the first column of a table.
	kind string
	// column is the heading of the first column, for a cell.
	column string
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	pageLink = regexp.MustCompile(`\]\([^)]*\)`)
)

// piecesOf reads README.md, docs/*.md and the tutorials.
func piecesOf(t *testing.T, root string) []piece {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	tutorials, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	require.NoError(t, err)
	var list []piece
	for _, page := range slices.Concat(pages, tutorials, []string{filepath.Join(root, "README.md")}) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		list = append(list, piecesIn(filepath.Base(page), string(text))...)
	}
	require.Greater(t, len(list), 1000)
	return list
}

func piecesIn(page, text string) []piece {
	var list []piece
	block, column, previous := "", "", ""
	for i, line := range strings.Split(strings.ReplaceAll(text, "\\\n", ""), "\n") {
		at := page + ":" + strconv.Itoa(i+1)
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if block == "" {
				block = "block " + fence
			} else {
				block = ""
			}
			continue
		}
		if block != "" {
			list = append(list, piece{at, line, block, ""})
			continue
		}
		first, isRow := "", strings.HasPrefix(line, "|")
		if isRow {
			first, _, _ = strings.Cut(line[1:], "|")
			if strings.HasPrefix(first, "---") {
				before, _, _ := strings.Cut(strings.TrimPrefix(previous, "|"), "|")
				column = strings.TrimSpace(before)
			}
		} else {
			column = ""
		}
		for _, match := range codeSpan.FindAllStringSubmatch(pageLink.ReplaceAllString(line, "]"), -1) {
			p := piece{at, match[1], "span", ""}
			if isRow && column != "" && strings.Contains(first, "`"+match[1]+"`") {
				p.kind, p.column = "cell", column
			}
			list = append(list, p)
		}
		previous = line
	}
	return list
}

var dotted = regexp.MustCompile(`^([a-z_]+(?:\.[a-z0-9_]+)+)(?:$|[:=\s]|\.\*)`)

// noKeys begin as keys do, and are fields of GET /status, or files.
var noKeys = []string{"kafka.ok", "clickhouse.ok", "clickhouse.damaged_parts", "source.done", "swaps.md", "volume.md", "swap.md"}

func TestPagesNameSettingsThatExist(t *testing.T) {
	known, groups := map[string]bool{}, map[string]bool{}
	for _, key := range config.Keys(defaults()) {
		known[key] = true
		for i := range key {
			if key[i] == '.' {
				known[key[:i]], groups[key[:i]] = true, true
			}
		}
	}
	checked := 0
	for _, p := range piecesOf(t, testkit.Root(t)) {
		isCell := p.kind == "cell" && (p.column == "key" || p.column == "setting") && !strings.HasPrefix(p.text, "-")
		name := ""
		if match := dotted.FindStringSubmatch(p.text); match != nil {
			name = match[1]
		}
		first, _, _ := strings.Cut(name, ".")
		if isCell {
			name = p.text
		} else if p.kind != "span" || !groups[first] || slices.Contains(noKeys, name) || strings.HasSuffix(name, ".v1") {
			continue
		}
		checked++
		if !known[strings.TrimSuffix(name, ".*")] {
			t.Errorf("%s: there is no setting %s: see docs/configuration.md", p.at, name)
		}
	}
	require.Greater(t, checked, 100)
}

var envName = regexp.MustCompile(`\bMINTLAKE_[A-Z0-9_]*[A-Z0-9]`)

func TestPagesNameVariablesThatExist(t *testing.T) {
	root := testkit.Root(t)
	known := map[string]bool{"MINTLAKE_CONFIG": true}
	for _, key := range config.Keys(defaults()) {
		known[config.EnvPrefix+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))] = true
	}
	compose, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	texts := literals(t, root, true)
	for _, p := range piecesOf(t, root) {
		for _, name := range envName.FindAllString(p.text, -1) {
			if !known[name] && !texts[name] && !strings.Contains(string(compose)+string(makefile), name) {
				t.Errorf("%s: nothing reads %s", p.at, name)
			}
		}
	}
}

var (
	metric       = regexp.MustCompile(`\^?\bmintlake_[a-z0-9_]*[a-z0-9_](?:…|\*)?`)
	metricSuffix = regexp.MustCompile(`^(_?[a-z][a-z0-9_]*_(?:total|seconds|bytes_total))(?:\{.*\})?$`)
	// noMetrics are names of databases, groups and files.
	noMetrics = []string{"mintlake_verify"}
)

// The table of docs/metrics.md is made of the code by tools/metricspage, and TestObservability
// holds it to a running demo; the pages are held to the table.
func TestPagesNameMetricsThatExist(t *testing.T) {
	root := testkit.Root(t)
	known := keysOf(pageMetrics(t))
	for _, p := range piecesOf(t, root) {
		for _, name := range metric.FindAllString(p.text, -1) {
			prefix := strings.Trim(name, "^…*") // ^mintlake_x is what grep looks for
			exists := slices.ContainsFunc(known, func(k string) bool {
				if prefix != name || strings.HasSuffix(name, "_") {
					return strings.HasPrefix(k+"_", prefix)
				}
				return k == name || strings.HasPrefix(name, k+"_") && slices.Contains([]string{"_bucket", "_sum", "_count"}, name[len(k):])
			})
			if !exists && !slices.Contains(noMetrics, name) {
				t.Errorf("%s: there is no metric %s: see docs/metrics.md", p.at, name)
			}
		}
		if match := metricSuffix.FindStringSubmatch(p.text); match != nil && p.kind == "span" {
			if !slices.ContainsFunc(known, func(k string) bool { return strings.HasSuffix(k, match[1]) }) {
				t.Errorf("%s: no metric ends in %s", p.at, match[1])
			}
		}
	}
}

var route = regexp.MustCompile(`^(GET|POST|PUT|DELETE|HEAD) (/[^\s?` + "`" + `]*)`)

// Every route that a page names is in the code, and every route of the API is in a page.
func TestPagesNameRoutesThatExist(t *testing.T) {
	root := testkit.Root(t)
	paths := map[string]bool{}
	for text := range literals(t, root, false) {
		_, path, hasMethod := strings.Cut(text, " ")
		if !hasMethod {
			path = text
		}
		if strings.HasPrefix(path, "/") {
			paths[normal(path)] = true
		}
	}
	named := map[string]bool{}
	for _, p := range piecesOf(t, root) {
		match := route.FindStringSubmatch(p.text)
		if match == nil || p.kind == "block" {
			continue
		}
		path := normal(match[2])
		named[path] = true
		if !paths[path] {
			t.Errorf("%s: nothing serves %s %s", p.at, match[1], match[2])
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "schemas", "openapi", "openapi.yaml"))
	require.NoError(t, err)
	var document struct{ Paths map[string]any }
	require.NoError(t, yaml.Unmarshal(data, &document))
	require.Greater(t, len(document.Paths), 10)
	for path := range document.Paths {
		if strings.HasPrefix(path, "/tokens") || strings.HasPrefix(path, "/img") {
			require.True(t, named[normal(path)], "no page names %s", path)
		}
	}
}

// normal writes the parameters of a path in one way: {mint} and :mint are the same.
func normal(path string) string {
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, ":") || strings.HasPrefix(segment, "{") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

var (
	created = regexp.MustCompile(`CREATE (?:OR REPLACE )?(?:TABLE|VIEW|DICTIONARY)(?: IF NOT EXISTS)? \{\{\.Database\}\}\.(\w+)`)
	index   = regexp.MustCompile(`\bINDEX (?:IF NOT EXISTS )?(\w+)`)
	from    = regexp.MustCompile(`(?i)\b(?:FROM|JOIN) (?:mintlake\.)?([a-z_0-9]+)\b([.(]?)`)
	with    = regexp.MustCompile(`(?i)\b([a-z_0-9]+) AS \(`)
)

func TestPagesNameTablesThatExist(t *testing.T) {
	root := testkit.Root(t)
	known := map[string]bool{"schema_migrations": true} // internal/clickhouse makes it
	files, err := filepath.Glob(filepath.Join(root, "schemas", "clickhouse", "migrations", "*.sql"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range append(created.FindAllStringSubmatch(string(text), -1), index.FindAllStringSubmatch(string(text), -1)...) {
			known[match[1]] = true
		}
	}
	require.Greater(t, len(known), 30)
	pieces := piecesOf(t, root)
	defined := map[string]bool{}
	for _, p := range pieces {
		for _, match := range with.FindAllStringSubmatch(p.text, -1) {
			defined[match[1]] = true
		}
	}
	checked := 0
	for _, p := range pieces {
		var names []string
		switch {
		case p.kind == "block sql":
			for _, match := range from.FindAllStringSubmatch(p.text, -1) {
				if match[2] == "" && !defined[match[1]] {
					names = append(names, match[1])
				}
			}
		case strings.HasSuffix(p.text, "_raw") && word.MatchString(strings.ReplaceAll(p.text, "_", "")), p.kind == "cell" && (p.column == "table" || p.column == "view"):
			if !strings.HasPrefix(p.text, "_") { // volume_1m, _1h and _1d
				names = []string{strings.TrimPrefix(p.text, "mintlake.")}
			}
		}
		for _, name := range names {
			checked++
			if !known[name] {
				t.Errorf("%s: there is no table or view %s", p.at, name)
			}
		}
	}
	require.Greater(t, checked, 30)
}

// literals are the strings in the code, those of its tests only when asked for.
func literals(t *testing.T, root string, tests bool) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		if strings.HasSuffix(path, "_test.go") && !tests {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					texts[text] = true
				}
			}
			return true
		})
		return nil
	}))
	return texts
}
