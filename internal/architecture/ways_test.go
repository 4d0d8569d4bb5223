package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// Every function that docs/ARCHITECTURE.md names on the ways of a mint, a search and a batch is in
// the file that it names.
func TestArchitectureNamesFunctionsThatExist(t *testing.T) {
	root := testkit.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	require.NoError(t, err)
	_, ways, found := strings.Cut(string(page), "\n## The way of one InitializeMint\n")
	require.True(t, found)
	ways, _, found = strings.Cut(ways, "\n## The map\n")
	require.True(t, found)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(ways, -1)
	require.Greater(t, len(rows), 40)
	declared := make(map[string]map[string]bool)
	for _, row := range rows {
		name, file := row[1], row[2]
		if declared[file] == nil {
			declared[file] = functionsOf(t, filepath.Join(root, filepath.FromSlash(file)))
		}
		require.True(t, declared[file][name], "%s has no function %s", file, name)
	}
}

// functionsOf are the functions of a Go file, methods with their type in front: "State.Apply".
func functionsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := function.Name.Name
		if function.Recv != nil {
			receiver := function.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if typ, ok := receiver.(*ast.Ident); ok {
				name = typ.Name + "." + name
			}
		}
		names[name] = true
	}
	return names
}
