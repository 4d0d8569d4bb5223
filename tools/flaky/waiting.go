package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// test is one test function.
type test struct {
	pkg, dir, name string
	// waits is the number of places where the test waits for time to pass.
	waits int
}

// packageFiles is what go list tells of a package.
type packageFiles struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
}

// waiting returns the tests of packages that wait and whose names the regular expression only
// matches. Tests with the most waits come first. No packages means all of the module.
func waiting(ctx context.Context, packages []string, only string) (tests []test, err error) {
	names, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, packages...)...) //nolint:gosec // what the caller names
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p packageFiles
		if err := decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if strings.Contains(p.ImportPath+"/", "/e2e/") {
			continue
		}
		functions, err := functionsOf(&p)
		if err != nil {
			return nil, err
		}
		for _, f := range functions {
			name := f.Name.Name
			if n := waits(f.Body, functions); n > 0 && strings.HasPrefix(name, "Test") && name != "TestMain" && names.MatchString(name) {
				tests = append(tests, test{p.ImportPath, p.Dir, name, n})
			}
		}
	}
	slices.SortFunc(tests, func(a, b test) int {
		return cmp.Or(cmp.Compare(b.waits, a.waits), cmp.Compare(a.pkg+a.name, b.pkg+b.name))
	})
	return tests, nil
}

// functionsOf returns the functions of a package's tests, by name.
func functionsOf(p *packageFiles) (map[string]*ast.FuncDecl, error) {
	functions := map[string]*ast.FuncDecl{}
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
				functions[f.Name.Name] = f
			}
		}
	}
	return functions, nil
}

// waits counts the calls that wait for real time: time.Sleep, and testify's Eventually and Never.
// It skips the arguments of calls of synctest and of helpers that use it: their clock is simulated.
func waits(body *ast.BlockStmt, functions map[string]*ast.FuncDecl) (count int) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			helper := functions[f.Name]
			return helper == nil || !simulates(helper.Body)
		case *ast.SelectorExpr:
			pkg, _ := f.X.(*ast.Ident)
			if pkg != nil && pkg.Name == "synctest" {
				return false
			}
			if pkg != nil && pkg.Name == "time" && f.Sel.Name == "Sleep" || strings.HasPrefix(f.Sel.Name, "Eventually") || strings.HasPrefix(f.Sel.Name, "Never") {
				count++
			}
		}
		return true
	})
	return count
}

// simulates returns whether the code uses testing/synctest.
func simulates(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && name.Name == "synctest"
		return !found
	})
	return found
}
