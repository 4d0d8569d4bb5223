package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// unexportedLeft is how many unexported fields such structs still have. It may only become smaller:
// what tests change is a field of the component, which a function of export_test.go sets before
// Run, and what nothing changes is a constant.
const unexportedLeft = 161

// TestNoMoreUnexportedConfiguration: an unexported field of a configuration is one that no user of
// the package can set.
func TestNoMoreUnexportedConfiguration(t *testing.T) {
	root := testkit.Root(t)
	count := 0
	for _, file := range productFiles(t, root) {
		for _, structure := range configurationsIn(file) {
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					if !name.IsExported() {
						count++
					}
				}
			}
		}
	}
	require.LessOrEqual(t, count, unexportedLeft, "a new unexported field of a configuration: make it a constant, a setting, or a field of the component")
}

var configurationName = regexp.MustCompile(`(Config|Options|Settings|Limits)$`)

// configurationField is an exported field of a struct that says how something works.
type configurationField struct{ folder, structure, name string }

// TestEveryConfigurationFieldIsSet: code of the product sets each exported field of each struct
// named …Config, …Options, …Settings or …Limits, or an operator does: fields with a tag are
// settings. What only tests set is unexported, and what nobody sets is a constant.
//
// The test reads syntax, not types, which would take it a minute. A field is set by a literal of
// its struct, or by an assignment in a file that imports its package. A programmer who uses the
// package client sets its fields.
func TestEveryConfigurationFieldIsSet(t *testing.T) {
	root := testkit.Root(t)
	files := productFiles(t, root)
	fields, set := map[configurationField]bool{}, map[configurationField]bool{}
	for path, file := range files {
		collectConfigurationFields(folderOf(root, path), file, fields)
	}
	require.Greater(t, len(fields), 200)
	for path, file := range files {
		markSetFields(folderOf(root, path), file, set)
	}
	var forgotten []string
	excused := 0
	for field, tagged := range fields {
		if tagged || field.isSet(set) || field.folder == "client" {
			continue
		}
		if onlyTestsSet[field] != "" {
			excused++
			continue
		}
		forgotten = append(forgotten, field.folder+": "+field.structure+"."+field.name)
	}
	slices.Sort(forgotten)
	require.Empty(t, forgotten, "nothing sets these fields: unexport each, or make it a constant or a setting")
	require.Len(t, onlyTestsSet, excused, "a field that is set, or that is gone, needs no reason")
}

// onlyTestsSet are fields that only tests of other packages set, with the reason. A test of the
// package itself sets unexported fields, by its file export_test.go if need be.
var onlyTestsSet = map[configurationField]string{
	{"demo", "Config", "Manual"}:                   "tests of the whole node count what they made: they make each slot by Node.Step",
	{"demo", "Config", "Future"}:                   "tests of readers need a node whose blocks have a version that nobody knows yet",
	{"logos/decoder", "Config", "CPU"}:             "imageload tests what becomes of a picture that takes too long",
	{"logos/decoder", "Config", "CPUPerMegapixel"}: "as CPU",
	{"logos/decoder", "Config", "Limits"}:          "imageload tests hostile pictures, which are large; smaller bounds make them small",
	{"logos/decoder", "Config", "Wall"}:            "the same tests on a machine that stands still: it may not be the wall clock that ends them",
	{"logos/picture", "Limits", "Pixels"}:          "as Limits of the decoder",
	{"embedded/clickhouse", "Config", "LetGo"}:     "projector/swaps tests an engine that hangs; with 15 s, for a quarter of a minute more",
}

func (f configurationField) isSet(set map[configurationField]bool) bool {
	return set[f] || set[configurationField{f.folder, anyStructure, f.name}] || set[configurationField{f.folder, f.structure, anyField}]
}

func folderOf(root, path string) string {
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		panic(err) // path was found below root
	}
	return filepath.ToSlash(folder)
}

func productFiles(t *testing.T, root string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, path := range goFiles(t, root) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files[path] = file
	}
	return files
}

// configurationsIn returns the structs of the file that say how something works, by name.
func configurationsIn(file *ast.File) map[string]*ast.StructType {
	found := map[string]*ast.StructType{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() || !configurationName.MatchString(spec.Name.Name) {
			return true
		}
		if structure, ok := spec.Type.(*ast.StructType); ok {
			found[spec.Name.Name] = structure
		}
		return true
	})
	return found
}

// collectConfigurationFields adds the fields that the file declares, and whether they have a tag.
func collectConfigurationFields(folder string, file *ast.File, fields map[configurationField]bool) {
	for structName, structure := range configurationsIn(file) {
		for _, field := range structure.Fields.List {
			tagged := field.Tag != nil && reflect.StructTag(strings.Trim(field.Tag.Value, "`")) != ""
			for _, name := range field.Names {
				if name.IsExported() {
					fields[configurationField{folder, structName, name.Name}] = tagged
				}
			}
		}
	}
}

// markSetFields marks what the file's literals and assignments set. The assignments of a package to
// its own fields are defaults and do not count.
func markSetFields(folder string, file *ast.File, set map[configurationField]bool) {
	imports := importsOf(file)
	ast.Inspect(file, func(node ast.Node) bool {
		if function, ok := node.(*ast.FuncDecl); ok && strings.Contains(strings.ToLower(function.Name.Name), "default") {
			return false
		}
		switch node := node.(type) {
		case *ast.CompositeLit:
			of, structure := folder, ""
			switch kind := node.Type.(type) {
			case *ast.Ident:
				structure = kind.Name
			case *ast.SelectorExpr:
				if name, ok := kind.X.(*ast.Ident); ok {
					of, structure = imports[name.Name], kind.Sel.Name
				}
			}
			markLiteral(configurationField{folder: of, structure: structure}, node, set)
		case *ast.AssignStmt:
			for _, target := range node.Lhs {
				markSelector(target, imports, set)
				if len(node.Lhs) > len(node.Rhs) { // cfg.Field, err = parse(…) is no default
					markSelector(target, map[string]string{"": folder}, set)
				}
			}
		case *ast.UnaryExpr:
			// &cfg.Field, for a flag, or for a parser of the package itself.
			if node.Op == token.AND {
				markSelector(node.X, imports, set)
				markSelector(node.X, map[string]string{"": folder}, set)
			}
		}
		return true
	})
}

func markLiteral(of configurationField, literal *ast.CompositeLit, set map[configurationField]bool) {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				set[configurationField{of.folder, of.structure, key.Name}] = true
			}
			continue
		}
		set[configurationField{of.folder, of.structure, anyField}] = true
	}
}

// anyStructure stands for each structure of a package, where syntax does not tell which; anyField
// for each field, in a literal without names.
const anyStructure, anyField = "*", "*"

func markSelector(target ast.Expr, imports map[string]string, set map[configurationField]bool) {
	if selector, ok := target.(*ast.SelectorExpr); ok {
		for _, folder := range imports {
			set[configurationField{folder, anyStructure, selector.Sel.Name}] = true
		}
	}
}

// importsOf maps the names that the file has for packages of this module to their folders.
func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // no parser accepts that
		}
		folder, ours := strings.CutPrefix(path, module)
		if !ours {
			continue
		}
		name := folder[strings.LastIndex(folder, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = folder
	}
	return imports
}
