package main

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// metric is what the code declares of a metric.
type metric struct {
	kind, help string
	labels     []string // sorted
}

func (m metric) equal(other metric) bool {
	return m.kind == other.kind && m.help == other.help && slices.Equal(m.labels, other.labels)
}

// goPackage is the source of one package.
type goPackage struct {
	files []*ast.File
	// helpers are the package's functions and methods that make metrics, by name. A call of a
	// helper is followed into its body, with its parameters bound: many packages make their metrics
	// by counter(name, help).
	helpers map[string]helper
	found   map[string]metric
}

// helper is a function that a call is followed into.
type helper struct {
	parameters *ast.FieldList
	body       *ast.BlockStmt
}

// scope has the known values of names. A value is a string, or a []string of labels.
type scope struct {
	values  map[string]any
	helpers map[string]helper
	// depth is how many calls were followed to get here. It bounds recursion.
	depth int
}

const maxDepth = 4

func newPackage() *goPackage {
	return &goPackage{helpers: map[string]helper{}, found: map[string]metric{}}
}

// metrics returns the metrics that the package makes, by name.
func (p *goPackage) metrics() map[string]metric {
	top := scope{values: map[string]any{}, helpers: p.helpers}
	for _, file := range p.files {
		if !imports(file, "github.com/prometheus/client_golang/prometheus") {
			continue
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Body != nil && makesMetric(d.Body) {
					p.helpers[d.Name.Name] = helper{d.Type.Params, d.Body}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok {
						for i, name := range value.Names {
							if i < len(value.Values) {
								top.define(name.Name, value.Values[i])
							}
						}
					}
				}
			}
		}
	}
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					p.follow(d.Body, top)
				}
			case *ast.GenDecl:
				p.follow(d, top)
			}
		}
	}
	return p.found
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) })
}

// makesMetric reports whether a body calls one of prometheus's constructors.
func makesMetric(body ast.Node) (makes bool) {
	ast.Inspect(body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && constructor(call) != "" {
			makes = true
		}
		return !makes
	})
	return makes
}

// constructor returns what a call makes, such as CounterVec; empty if it is no constructor of
// prometheus.
func constructor(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from, ok := selector.X.(*ast.Ident); !ok || from.Name != "prometheus" {
		return ""
	}
	made, ok := strings.CutPrefix(selector.Sel.Name, "New")
	if !ok || kindOf(made) == "" {
		return ""
	}
	return made
}

// kindOf returns the type of the metric that a constructor makes. In our code, a Desc always
// describes a gauge.
func kindOf(made string) string {
	switch made {
	case "Counter", "CounterVec", "CounterFunc":
		return "counter"
	case "Gauge", "GaugeVec", "GaugeFunc", "Desc":
		return "gauge"
	case "Histogram", "HistogramVec":
		return "histogram"
	case "Summary", "SummaryVec":
		return "summary"
	}
	return ""
}

// follow finds the metrics that a body makes, where names mean what s says.
func (p *goPackage) follow(body ast.Node, s scope) {
	if s.depth > maxDepth {
		return
	}
	s.values, s.helpers = maps.Clone(s.values), maps.Clone(s.helpers)
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) {
					s.define(name.Name, n.Rhs[i])
				}
			}
		case *ast.CallExpr:
			p.call(n, s)
		}
		return true
	})
}

// define notes what a name is assigned. A name of something that is not known loses its value.
func (s scope) define(name string, value ast.Expr) {
	delete(s.values, name)
	if function, ok := value.(*ast.FuncLit); ok {
		s.helpers[name] = helper{function.Type.Params, function.Body}
		return
	}
	if known, ok := s.value(value); ok {
		s.values[name] = known
	}
}

// call notes the metric that a call makes, itself or in a helper.
func (p *goPackage) call(call *ast.CallExpr, s scope) {
	if made := constructor(call); made != "" {
		p.note(made, call.Args, s)
		return
	}
	name := ""
	switch function := call.Fun.(type) {
	case *ast.Ident:
		name = function.Name
	case *ast.SelectorExpr:
		name = function.Sel.Name
	}
	h, ok := s.helpers[name]
	if !ok || h.parameters == nil {
		return
	}
	inner := scope{values: maps.Clone(s.values), helpers: s.helpers, depth: s.depth + 1}
	at := 0
	for _, field := range h.parameters.List {
		for _, parameter := range field.Names {
			delete(inner.values, parameter.Name)
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				rest := []string{}
				for _, argument := range call.Args[min(at, len(call.Args)):] {
					if text := s.text(argument); text != "" {
						rest = append(rest, text)
					}
				}
				inner.values[parameter.Name] = rest
			} else if at < len(call.Args) {
				if value, ok := s.value(call.Args[at]); ok {
					inner.values[parameter.Name] = value
				}
			}
			at++
		}
	}
	p.follow(h.body, inner)
}

// note notes the metric that the constructor of made makes, if s knows its name. In the body of a
// helper s knows the name only while a call of the helper is followed.
func (p *goPackage) note(made string, arguments []ast.Expr, s scope) {
	name, help := "", ""
	var labels []string
	add := func(expression ast.Expr) {
		value, _ := s.value(expression)
		more, _ := value.([]string)
		labels = append(labels, more...)
	}
	if made == "Desc" {
		name, help = s.text(arguments[0]), s.text(arguments[1])
		add(arguments[2])
		add(arguments[3])
	} else if options, ok := arguments[0].(*ast.CompositeLit); ok {
		for _, element := range options.Elts {
			pair := element.(*ast.KeyValueExpr)
			switch pair.Key.(*ast.Ident).Name {
			case "Name":
				name = s.text(pair.Value)
			case "Help":
				help = s.text(pair.Value)
			case "ConstLabels":
				add(pair.Value)
			}
		}
		if strings.HasSuffix(made, "Vec") {
			add(arguments[1])
		}
	}
	if name != "" {
		p.found[name] = metric{kindOf(made), help, slices.Compact(slices.Sorted(slices.Values(labels)))}
	}
}

// text returns the text that an expression is; empty if it is no text, or not known.
func (s scope) text(expression ast.Expr) string {
	if value, ok := s.value(expression); ok {
		text, _ := value.(string)
		return text
	}
	return ""
}

// value returns what an expression is, if that can be read off: a string, or the strings of a slice
// or the keys of a map.
func (s scope) value(expression ast.Expr) (any, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		known, ok := s.values[e.Name]
		return known, ok
	case *ast.BinaryExpr:
		left, right := s.text(e.X), s.text(e.Y)
		return left + right, left != "" && right != "" && e.Op == token.ADD
	case *ast.CompositeLit:
		all := []string{}
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Key
			}
			if text := s.text(element); text != "" {
				all = append(all, text)
			}
		}
		return all, true
	case *ast.CallExpr: // append(a, b...)
		if function, ok := e.Fun.(*ast.Ident); !ok || function.Name != "append" {
			return nil, false
		}
		all := []string{}
		for _, argument := range e.Args {
			switch value, _ := s.value(argument); value := value.(type) {
			case string:
				all = append(all, value)
			case []string:
				all = append(all, value...)
			}
		}
		return all, true
	}
	return nil, false
}
