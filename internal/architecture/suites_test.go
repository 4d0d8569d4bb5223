package architecture

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/tools/suites/table"
)

// notSuites are targets of the Makefile that look like suites.
var notSuites = map[string]string{
	"test":       "runs suites",
	"test-gate":  "runs suites",
	"test-all":   "runs suites",
	"test-flaky": "repeats tests of suites",
}

// TestEveryTestIsOfASuite: make test-all runs each test of the tree. What the table names exists.
func TestEveryTestIsOfASuite(t *testing.T) {
	suites := loadSuites(t)
	names := map[string]bool{}
	for _, test := range testsOfTheTree(t) {
		names[test.name] = true
		require.True(t, slices.ContainsFunc(suites, func(s table.Suite) bool {
			return slices.Contains(s.In, "all") && slices.ContainsFunc(slices.Concat(s.Go, s.Covers), func(tests table.Tests) bool {
				return tests.Has(test.module, test.tag, test.folder, test.name)
			})
		}), "%s of %s/%s is of no suite of make test-all: see tools/suites/table/suites.yaml", test.name, test.module, test.folder)
	}
	for _, s := range suites {
		for _, tests := range s.Go {
			for _, word := range slices.Concat(tests.Run, tests.Skip) {
				pattern := regexp.MustCompile(table.Words{word}.Pattern())
				require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(names)), pattern.MatchString), "suite %s names %s: there is no such test", s.Name, word)
			}
		}
	}
}

// TestEveryTestingTargetIsASuite: a target of the Makefile that tests is run by make test-all.
func TestEveryTestingTargetIsASuite(t *testing.T) {
	suites := loadSuites(t)
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "Makefile"))
	require.NoError(t, err)
	var targets []string
	for _, match := range regexp.MustCompile(`(?m)^(test[a-z-]*|drill-[a-z-]+|fuzz|soak|lint|compose-config):.*(?:\n\t.*)*`).FindAllStringSubmatch(string(text), -1) {
		targets = append(targets, match[1])
		// It runs a suite, or a suite runs it.
		runs := regexp.MustCompile(`\$\(RUN_SUITES\) run ([a-z-]+)`).FindStringSubmatch(match[0])
		require.True(t, notSuites[match[1]] != "" || slices.ContainsFunc(suites, func(s table.Suite) bool {
			return slices.Contains(s.In, "all") && (runs != nil && s.Name == runs[1] || strings.HasPrefix(s.Make+" ", match[1]+" "))
		}), "make %s is no suite of make test-all: see tools/suites/table/suites.yaml", match[1])
	}
	for _, s := range suites {
		require.NotEqual(t, s.Make == "", len(s.Go) == 0, "suite %s has either make or go", s.Name)
		if s.Make != "" {
			require.Contains(t, targets, strings.Fields(s.Make)[0], s.Name)
		}
	}
}

// TestSuitesFitTheirTime: what developers wait for stays short.
func TestSuitesFitTheirTime(t *testing.T) {
	for in, limit := range map[string]int{"test": 15, "gate": 30, "all": 360} {
		minutes := 0
		for _, s := range loadSuites(t) {
			require.Positive(t, s.Minutes, s.Name)
			if slices.Contains(s.In, in) {
				minutes += s.Minutes
			}
		}
		require.Positive(t, minutes, in)
		require.LessOrEqual(t, minutes, limit, "minutes of the suites in %s", in)
	}
}

func loadSuites(t *testing.T) []table.Suite {
	t.Helper()
	all, err := table.Load()
	require.NoError(t, err)
	for _, s := range all.Suites {
		for _, need := range s.Needs {
			require.Contains(t, all.Needs, need, s.Name)
		}
	}
	return all.Suites
}

// testOfTheTree is a test function. Module is the folder of its go.mod, empty for the main one;
// folder is that of its package, below the module's.
type testOfTheTree struct{ module, folder, tag, name string }

func testsOfTheTree(t *testing.T) []testOfTheTree {
	t.Helper()
	root := testkit.Root(t)
	var out []testOfTheTree
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || path != root && strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		test := testOfTheTree{tag: buildTag(file)}
		test.module, test.folder = moduleOf(t, root, filepath.Dir(path))
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil || !regexp.MustCompile(`^(Test|Fuzz)[^a-z]`).MatchString(function.Name.Name) || function.Name.Name == "TestMain" {
				continue
			}
			test.name = function.Name.Name
			out = append(out, test)
		}
		return nil
	}))
	require.NotEmpty(t, out)
	return out
}

// moduleOf splits a folder into that of its module and the rest.
func moduleOf(t *testing.T, root, folder string) (module, rest string) {
	t.Helper()
	for parent := folder; ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(filepath.Join(parent, "go.mod")); err == nil {
			module, err = filepath.Rel(root, parent)
			require.NoError(t, err)
			rest, err = filepath.Rel(parent, folder)
			require.NoError(t, err)
			return strings.TrimPrefix(module, "."), strings.TrimPrefix(rest, ".")
		}
	}
}

// buildTag is the tag that a file wants, empty for those of systems.
func buildTag(file *ast.File) string {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if expression, err := constraint.Parse(comment.Text); err == nil {
				if tag, ok := expression.(*constraint.TagExpr); ok && tag.Tag != "linux" {
					return tag.Tag
				}
			}
		}
	}
	return ""
}
