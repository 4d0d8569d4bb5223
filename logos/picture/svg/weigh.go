package svg

import "strings"

const (
	// maxReferences is how many references the rules for one subject may have in a style sheet.
	maxReferences = 64
	// maxElementReferences is how many references the properties and rules of one element may have.
	maxElementReferences = 4 * maxReferences
	maxClasses           = 32 // of one element
)

// What an element costs a browser to draw, where a plain shape costs 1. These are estimates.
const (
	weightFilter = 100 // each filter step processes every pixel
	weightImage  = 20
	weightBytes  = 64 // each 64 bytes of a path or a text count as one more shape
)

// weigher counts the shapes that are drawn when every reference is followed: a shape that is used
// twice counts twice. Ten lines of use elements can expand to billions of shapes, like entities,
// and a browser would draw them all.
type weigher struct {
	byID    map[string]*node
	sheets  []*sheet
	weights map[*node]int // of nodes visited so far; 0 while the visit lasts
}

// weigh refuses a document that asks too much of a browser, or whose references form a circle.
func weigh(root *node, sheets []*sheet) error {
	w := &weigher{byID: map[string]*node{}, sheets: sheets, weights: map[*node]int{}}
	w.index(root)
	_, err := w.weight(root, 0)
	return err
}

func (w *weigher) index(n *node) {
	if id := n.get("id"); id != "" && w.byID[id] == nil {
		w.byID[id] = n
	}
	for _, child := range n.children {
		w.index(child)
	}
}

// weight returns the weight of an element with all that it draws: itself, its children, and what it
// refers to. A property that the content inherits may draw its target once for every shape inside
// the element. So the weight of that target is multiplied by the weight of the element's content.
func (w *weigher) weight(n *node, depth int) (int, error) {
	if n.name == "" {
		return len(n.text) / weightBytes, nil
	}
	if known, ok := w.weights[n]; ok {
		if known == 0 {
			return 0, bounds("parts that refer to each other in a circle")
		}
		return known, nil
	}
	if depth > 4*maxDepth {
		return 0, bounds("references deeper than %d", 4*maxDepth)
	}
	w.weights[n] = 0
	sum := ownWeight(n)
	add := func(next *node) error {
		more, err := w.weight(next, depth+1)
		if sum += more; err == nil && sum > maxDrawn {
			err = bounds("more than %d shapes to draw", maxDrawn)
		}
		return err
	}
	for _, child := range n.children {
		if err := add(child); err != nil {
			return 0, err
		}
	}
	references, err := w.referencesOf(n)
	if err != nil {
		return 0, err
	}
	if linked := w.byID[strings.TrimPrefix(linkOf(n), "#")]; linked != nil && follows[n.name] {
		if err := add(linked); err != nil {
			return 0, err
		}
	}
	content, seen := sum, map[reference]bool{}
	for _, r := range references {
		target := w.byID[r.id]
		if target == nil || seen[r] {
			continue
		}
		seen[r] = true
		more, err := w.weight(target, depth+1)
		if err != nil {
			return 0, err
		}
		if r.inherited {
			more *= content
		}
		if sum += more; sum > maxDrawn {
			return 0, bounds("more than %d shapes to draw", maxDrawn)
		}
	}
	w.weights[n] = max(sum, 1)
	return w.weights[n], nil
}

// follows are the elements that draw what their link names.
var follows = setOf("use linearGradient radialGradient pattern filter textPath mpath")

func linkOf(n *node) string {
	if link := n.get("href"); link != "" {
		return link
	}
	return n.get("xlink:href")
}

func ownWeight(n *node) int {
	switch {
	case n.name == "image":
		return weightImage
	case len(n.name) > 2 && strings.HasPrefix(n.name, "fe"):
		return weightFilter
	}
	return 1 + (len(n.get("d"))+len(n.get("points")))/weightBytes
}

// referencesOf returns the references of an element's properties. They come from the element's
// attributes, from its style attribute, and from the style rules that may match it.
func (w *weigher) referencesOf(n *node) ([]reference, error) {
	var found []reference
	for i := range n.attributes {
		a := &n.attributes[i]
		switch {
		case a.name == "style":
			found = append(found, cleanDeclarations(a.value).references...)
		case strings.Contains(a.value, "(") && a.name != "href" && a.name != "xlink:href":
			_, ids, _ := cleanValue(a.value)
			for _, id := range ids {
				found = append(found, reference{id, !ownProperties[a.name]})
			}
		}
	}
	classes := strings.Fields(n.get("class"))
	if len(classes) > maxClasses {
		return nil, bounds("an element of more than %d classes", maxClasses)
	}
	for _, s := range w.sheets {
		found = append(found, s.references["*"]...)
		found = append(found, s.references[n.name]...)
		if id := n.get("id"); id != "" {
			found = append(found, s.references["#"+id]...)
		}
		for _, class := range classes {
			found = append(found, s.references["."+class]...)
		}
	}
	if len(found) > maxElementReferences {
		return nil, bounds("an element with %d references", len(found))
	}
	return found, nil
}
