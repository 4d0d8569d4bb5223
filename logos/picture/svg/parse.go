package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// node is an element that is kept, or a text in one.
type node struct {
	name       string // empty for a text
	text       string
	attributes []attribute
	children   []*node
}

type attribute struct{ name, value string }

func (n *node) get(name string) string {
	for i := range n.attributes {
		if n.attributes[i].name == name {
			return n.attributes[i].value
		}
	}
	return ""
}

// parser builds the tree of what is kept.
type parser struct {
	cfg      *Config
	decoder  *xml.Decoder
	text     []byte
	root     *node
	open     []*node // the elements that have not ended, outermost first
	skipped  int     // depth inside an element that is left out
	elements int     // so far, skipped ones too
	pixels   int     // of embedded pictures so far
	sheets   []*sheet
}

// read parses the document into a tree of what is kept.
func read(text []byte, cfg *Config) (*node, []*sheet, error) {
	p := &parser{cfg: cfg, text: text, decoder: xml.NewDecoder(bytes.NewReader(text))}
	p.decoder.Strict = true
	p.decoder.Entity = xml.HTMLEntity
	// Text has converted the document to UTF-8 already.
	p.decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	for range maxTokens {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) && p.root != nil && len(p.open) == 0 {
			return p.root, p.sheets, p.matching()
		}
		if err != nil {
			return nil, nil, broken("%v", err)
		}
		if err := p.take(token); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, bounds("more than %d parts", maxTokens)
}

// take adds one token of the XML decoder to the tree.
func (p *parser) take(token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		return p.start(token)
	case xml.EndElement:
		return p.end()
	case xml.CharData:
		p.characters(token)
	case xml.Directive:
		if p.root != nil {
			return broken("a document type after the first element")
		}
		return bindEntities(p.decoder, string(token), p.text[min(int(p.decoder.InputOffset()), len(p.text)):])
	}
	// Comments and processing instructions are left out: xml-stylesheet would load a file.
	return nil
}

// start begins an element, and counts it against the limits. An element that is not kept is skipped
// with all that is in it.
func (p *parser) start(element xml.StartElement) error {
	if p.elements++; p.elements > maxElements {
		return bounds("more than %d elements", maxElements)
	}
	if len(element.Attr) > maxAttributes {
		return bounds("more than %d attributes", maxAttributes)
	}
	if len(p.open)+p.skipped >= maxDepth {
		return bounds("elements nested deeper than %d", maxDepth)
	}
	if len(p.open) == 0 {
		// Elements without a namespace are kept too: browsers refuse such a document, but the
		// renderers of some wallets draw it.
		if p.root != nil || element.Name.Local != "svg" || element.Name.Space != Namespace && element.Name.Space != "" {
			return broken("the document is no svg element")
		}
	}
	name := keptName(element.Name)
	if name == "" || p.skipped > 0 || len(p.open) > 0 && textOnly[p.open[len(p.open)-1].name] {
		p.skipped++
		return nil
	}
	made := &node{name: name}
	if err := p.attributesOf(made, element.Attr); err != nil {
		return err
	}
	if p.root == nil {
		p.root = made
	}
	p.open = append(p.open, made)
	return nil
}

// end ends an element, and adds it to its parent if it is worth keeping.
func (p *parser) end() error {
	if p.skipped > 0 {
		p.skipped--
		return nil
	}
	made := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if len(p.open) == 0 {
		return nil
	}
	switch made.name {
	case "style":
		clean, err := p.styleOf(made)
		if err != nil || clean == "" {
			return err
		}
		made.children = []*node{{text: clean}}
	case "image":
		if made.get("href") == "" && made.get("xlink:href") == "" {
			return nil
		}
	case "animate", "animateTransform", "set":
		if made.get("attributeName") == "" {
			return nil
		}
	}
	parent := p.open[len(p.open)-1]
	parent.children = append(parent.children, made)
	return nil
}

func (p *parser) characters(text xml.CharData) {
	if p.skipped > 0 || len(p.open) == 0 {
		return
	}
	parent := p.open[len(p.open)-1]
	if !holdsText[parent.name] {
		return // text between shapes is not drawn
	}
	parent.children = append(parent.children, &node{text: string(text)})
}

// styleOf returns the cleaned text of a style element. A sheet of another type than CSS is left
// out.
func (p *parser) styleOf(style *node) (string, error) {
	if kind := style.get("type"); kind != "" && !strings.EqualFold(strings.TrimSpace(kind), "text/css") {
		return "", nil
	}
	var text strings.Builder
	for _, child := range style.children {
		text.WriteString(child.text)
	}
	found, err := cleanSheet(text.String())
	if err != nil {
		return "", err
	}
	p.sheets = append(p.sheets, found)
	if len(p.sheets) > maxSheets {
		return "", bounds("more than %d style elements", maxSheets)
	}
	return found.text, nil
}

// matching refuses a document if a browser would have too much work to find the style rules of each
// element.
func (p *parser) matching() error {
	selectors := 0
	for _, s := range p.sheets {
		selectors += s.counted.selectors
	}
	if selectors*p.elements > maxMatches {
		return bounds("%d style selectors for %d elements", selectors, p.elements)
	}
	return nil
}
