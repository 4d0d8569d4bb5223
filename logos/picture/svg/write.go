package svg

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// writer writes a tree. All elements are in one namespace; the only prefixes are those of
// xlink:href and xml:space.
type writer struct {
	out  bytes.Buffer
	most int
}

// write returns the document of a tree. It refuses a document of more than most bytes.
func write(root *node, most int) ([]byte, error) {
	w := &writer{most: most}
	w.node(root, true)
	if w.out.Len() > most {
		return nil, bounds("%d bytes when it is written anew", w.out.Len())
	}
	return w.out.Bytes(), nil
}

// node writes a node and its children. It stops when the output is longer than most.
func (w *writer) node(n *node, root bool) {
	if w.out.Len() > w.most {
		return
	}
	if n.name == "" {
		escapeText(&w.out, n.text)
		return
	}
	w.out.WriteString("<" + n.name)
	if root {
		w.out.WriteString(` xmlns="` + Namespace + `"`)
		if hasXlink(n) {
			w.out.WriteString(` xmlns:xlink="` + xlinkNamespace + `"`)
		}
	}
	for i := range n.attributes {
		a := &n.attributes[i]
		if a.name == "style" && a.value == "" {
			continue
		}
		w.out.WriteString(" " + a.name + `="`)
		escapeValue(&w.out, a.value)
		w.out.WriteByte('"')
	}
	if len(n.children) == 0 {
		w.out.WriteString("/>")
		return
	}
	w.out.WriteByte('>')
	for _, child := range n.children {
		w.node(child, false)
	}
	w.out.WriteString("</" + n.name + ">")
}

func hasXlink(n *node) bool {
	for i := range n.attributes {
		if n.attributes[i].name == "xlink:href" {
			return true
		}
	}
	for _, child := range n.children {
		if hasXlink(child) {
			return true
		}
	}
	return false
}

// textEscapes and valueEscapes are the escapes of XML. In attribute values each white space
// character becomes a space, as XML parsers read it.
var (
	textEscapes  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")
	valueEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", " ", "\n", " ", "\t", " ")
)

func escapeText(out *bytes.Buffer, text string)  { _, _ = textEscapes.WriteString(out, text) }
func escapeValue(out *bytes.Buffer, text string) { _, _ = valueEscapes.WriteString(out, text) }

// sizeOf returns the size of the root element in pixels, or else that of its view box, or else 0.
func sizeOf(root *node) (width, height int) {
	width, height = pixels(root.get("width")), pixels(root.get("height"))
	if width > 0 && height > 0 {
		return width, height
	}
	box := strings.FieldsFunc(root.get("viewBox"), func(r rune) bool { return strings.ContainsRune(spaces+",", r) })
	if len(box) == 4 {
		return pixels(box[2]), pixels(box[3])
	}
	return 0, 0
}

// pixels reads a length in pixels and rounds it up. It returns 0 for any other text and for a
// length above 1e6.
func pixels(text string) int {
	value, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 64)
	if err != nil || !(value > 0) || value > 1e6 {
		return 0
	}
	return int(math.Ceil(value))
}
