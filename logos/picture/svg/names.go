package svg

import (
	"encoding/xml"
	"strings"
)

// setOf returns the set of the words in lists, which white space separates.
func setOf(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
	}
	return set
}

// elements are the elements that are kept. All others are left out with all that is in them, for
// example script, foreignObject, iframe, audio, video, handler, font and font-face, view, cursor,
// feImage and metadata. marker is left out too: it is drawn once for each point of a line.
var elements = setOf(`
	svg g defs symbol use switch style title desc
	path rect circle ellipse line polyline polygon text tspan textPath image
	linearGradient radialGradient stop pattern clipPath mask
	filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow
	feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight
	feTile feTurbulence
	animate animateTransform animateMotion mpath set`)

var (
	// textOnly elements may contain only text: in an HTML page, title and desc could contain HTML.
	textOnly  = setOf("title desc style")
	holdsText = setOf("title desc style text tspan textPath")
	// refers are the elements whose link may name a part of the same document.
	refers = setOf("use linearGradient radialGradient pattern filter textPath mpath animate animateTransform animateMotion set image")
	// animationValue are the attributes of an animation that have values for the animated
	// attribute.
	animationValue = setOf("values from to by")
)

// geometry are the attributes of place and shape.
var geometry = setOf(`
	x y width height x1 y1 x2 y2 cx cy r rx ry fx fy fr d points dx dy rotate textLength lengthAdjust startOffset method spacing side pathLength
	viewBox preserveAspectRatio transform gradientTransform gradientUnits spreadMethod offset patternUnits patternContentUnits patternTransform
	clipPathUnits maskUnits maskContentUnits filterUnits primitiveUnits
	in in2 result mode type values operator k1 k2 k3 k4 tableValues slope intercept amplitude exponent stdDeviation edgeMode order kernelMatrix
	divisor bias targetX targetY kernelUnitLength preserveAlpha surfaceScale diffuseConstant specularConstant specularExponent azimuth elevation
	pointsAtX pointsAtY pointsAtZ z limitingConeAngle scale xChannelSelector yChannelSelector radius baseFrequency numOctaves seed stitchTiles`)

// presentation are attributes that are CSS properties too.
// https://www.w3.org/TR/SVG2/styling.html#PresentationAttributes
var presentation = setOf(`
	alignment-baseline baseline-shift clip-path clip-rule color color-interpolation color-interpolation-filters color-rendering direction display
	dominant-baseline enable-background fill fill-opacity fill-rule filter flood-color flood-opacity font-family font-size font-size-adjust
	font-stretch font-style font-variant font-weight glyph-orientation-horizontal glyph-orientation-vertical image-rendering letter-spacing
	lighting-color mask mask-type opacity overflow paint-order shape-rendering stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset
	stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-rendering transform-origin
	unicode-bidi vector-effect visibility word-spacing writing-mode`)

// properties are the CSS properties that are kept, besides those in presentation.
var properties = setOf(`
	animation animation-delay animation-direction animation-duration animation-fill-mode animation-iteration-count animation-name
	animation-play-state animation-timing-function background background-color clip cx cy font font-feature-settings font-kerning
	font-variation-settings height isolation line-height mix-blend-mode r rotate rx ry scale text-align text-transform transform transform-box
	translate white-space width will-change x y`)

// attributes that are kept on every element.
var attributes = func() map[string]bool {
	set := setOf(`
		id class style lang version baseProfile role requiredFeatures requiredExtensions systemLanguage media
		attributeName attributeType begin dur end min max restart repeatCount repeatDur fill calcMode keyTimes keySplines keyPoints
		from to by additive accumulate path origin`)
	for _, more := range []map[string]bool{geometry, presentation} {
		for name := range more {
			set[name] = true
		}
	}
	return set
}()

// functions are the CSS functions that are kept. None takes an address; url() is checked
// separately.
var functions = setOf(`
	rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix var calc min max clamp
	matrix matrix3d translate translatex translatey translatez translate3d scale scalex scaley scalez scale3d rotate rotatex rotatey rotatez rotate3d
	skew skewx skewy perspective cubic-bezier steps linear
	blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia
	circle ellipse inset polygon rect`)

// keptName returns the name that an element is written with; empty if it is left out. A link
// becomes a group, so its content stays.
func keptName(name xml.Name) string {
	switch {
	case name.Space != Namespace && name.Space != "":
		return ""
	case name.Local == "a":
		return "g"
	case elements[name.Local]:
		return name.Local
	}
	return ""
}
