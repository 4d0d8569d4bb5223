package registry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry"
)

// TestEveryRegisterHasAName, and one of its own: the constants are counted in the source, so a new
// one cannot be forgotten.
func TestEveryRegisterHasAName(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "fact.go", nil, 0)
	require.NoError(t, err)
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				if strings.HasPrefix(name.Name, "Register") {
					constants++
				}
			}
		}
		return true
	})
	seen := map[string]bool{}
	register := registry.RegisterProgram
	for range constants {
		name := register.Name()
		require.NotEmpty(t, name, "register %d", register)
		require.False(t, seen[name], name)
		seen[name] = true
		register++
	}
	require.Empty(t, register.Name(), "as many names as registers")
	require.Empty(t, registry.Register(0).Name())
	require.Empty(t, registry.Register(255).Name())
}
