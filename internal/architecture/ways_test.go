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

// TestArchitectureNamesFunctionsThatExist: every function in the tables of docs/ARCHITECTURE.md is
// in the file that stands beside it, and does not only pass its parameters on to another one. Those
// that the text names as Type.Method are somewhere.
func TestArchitectureNamesFunctionsThatExist(t *testing.T) {
	root := testkit.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	require.NoError(t, err)
	_, ways, found := strings.Cut(string(page), "\n## The way of one InitializeMint\n")
	require.True(t, found)
	ways, _, found = strings.Cut(ways, "\n## The map\n")
	require.True(t, found)
	for _, way := range []string{"search", "batch", "transaction to a stream client", "quote", "key"} {
		require.Contains(t, ways, "\n## The way of one "+way+"\n")
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(ways, -1)
	require.Greater(t, len(rows), 100)
	declared := make(map[string]map[string]*ast.FuncDecl)
	for _, row := range rows {
		name, file := row[1], row[2]
		if declared[file] == nil {
			declared[file] = functionsOf(t, filepath.Join(root, filepath.FromSlash(file)))
		}
		require.NotNil(t, declared[file][name], "%s has no function %s", file, name)
		require.False(t, forwards(declared[file][name]), "%s only forwards", name)
	}
	known := map[string]bool{"pubkey.Key": true} // a type
	for _, p := range packages(t) {
		for _, file := range p.GoFiles {
			for name := range functionsOf(t, filepath.Join(root, filepath.FromSlash(p.folder()), file)) {
				known[name] = true
			}
		}
	}
	for _, named := range regexp.MustCompile("`([A-Za-z]+\\.[a-zA-Z]+)`").FindAllStringSubmatch(ways, -1) {
		require.True(t, known[named[1]], "there is no function %s", named[1])
	}
}

// TestArchitectureNamesFilesThatExist: the files and folders that docs/ARCHITECTURE.md names exist.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	root := testkit.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`([a-z_]+/[a-z0-9_./]*[a-z0-9_])/?`").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(named), 100)
	for _, match := range named {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(match[1]))); err != nil {
			require.NoError(t, err, "docs/ARCHITECTURE.md names %s", match[1])
		}
	}
}

// forwards reports whether a function does nothing but one call whose arguments are its parameters.
func forwards(function *ast.FuncDecl) bool {
	if len(function.Body.List) != 1 {
		return false
	}
	var expression ast.Expr
	switch statement := function.Body.List[0].(type) {
	case *ast.ExprStmt:
		expression = statement.X
	case *ast.ReturnStmt:
		if len(statement.Results) == 1 {
			expression = statement.Results[0]
		}
	}
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return false
	}
	for _, argument := range call.Args {
		if _, plain := argument.(*ast.Ident); !plain {
			return false
		}
	}
	return true
}

func TestForwards(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
func (r *R) Lookup(a int) int { return r.s.lookup(a) }
func (r *R) Seal(a, b int) { r.s.seal(a, b) }
func (r *R) Half(a int) int { return r.s.lookup(a / 2) }
func (r *R) Two(a int) int { r.n++; return r.s.lookup(a) }`, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	for _, declaration := range file.Decls {
		if function := declaration.(*ast.FuncDecl); forwards(function) {
			found = append(found, function.Name.Name)
		}
	}
	require.Equal(t, []string{"Lookup", "Seal"}, found)
}

// functionsOf are the functions of a Go file, methods with their type in front: "State.Apply".
func functionsOf(t *testing.T, path string) map[string]*ast.FuncDecl {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := make(map[string]*ast.FuncDecl)
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
		names[name] = function
	}
	return names
}
