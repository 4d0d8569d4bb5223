package svg

import "strings"

const (
	// maxReferences is how many parts of the document one element may refer to.
	maxReferences = 64
	maxClasses    = 32
)

// What an element costs a browser, in plain shapes.
const (
	weightFilter = 100 // each step goes over every pixel
	weightImage  = 20
	weightBytes  = 64 // so many bytes of a path or a text count as one shape more
)

// weigher counts what is drawn when every reference is followed: a shape that is used twice counts
// twice. Ten lines of use elements can stand for billions of shapes, as entities once did, and a
// browser draws them all.
type weigher struct {
	byID    map[string]*node
	sheets  []*sheet
	weights map[*node]int // 0: being weighed
}

// weigh refuses a document that asks too much of a browser, or whose parts refer to each other in a
// circle.
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

// weight of an element and all that it draws: its own, its children's, and what it refers to. What
// a property refers to that is inherited may be drawn for everything inside, so it multiplies.
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

// follows are elements that draw what their link names.
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

// referencesOf are the parts that an element's properties name, by attribute, by style, or by a
// rule that may be about it.
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
		if len(s.rules) == 0 {
			continue
		}
		found = append(append(found, s.rules["*"]...), s.rules[n.name]...)
		if id := n.get("id"); id != "" {
			found = append(found, s.rules["#"+id]...)
		}
		for _, class := range classes {
			found = append(found, s.rules["."+class]...)
		}
	}
	if len(found) > maxReferences*4 {
		return nil, bounds("an element with %d references", len(found))
	}
	return found, nil
}
