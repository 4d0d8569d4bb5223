package assets

import "fmt"

// drawing is the logo of a major: an emblem of our own on a disc with a colour gradient. It copies
// nobody's trademark.
type drawing struct {
	from, to string
	emblem   string // SVG elements in a box of 128 by 128
}

// drawings are the logos of the tokens that exist at genesis, by symbol. They are what the explorer
// shows first.
var drawings = map[string]drawing{
	// A sun over the sea.
	"SOL": {"#2b1b5e", "#c2416b", `<circle cx="64" cy="62" r="25" fill="#ffd166"/><g stroke="#ffd166" stroke-width="5" stroke-linecap="round"><path d="M64 20v9M34.3 32.300l6.4 6.400M93.7 32.300l-6.4 6.400M22 62h9M97 62h9"/></g><path d="M4 76c10-8 20-8 30 0s20 8 30 0 20-8 30 0 20 8 30 0v52H4z" fill="#1d3f8f"/><path d="M4 92c10-8 20-8 30 0s20 8 30 0 20-8 30 0 20 8 30 0v36H4z" fill="#2e62c9"/>`},
	// A coin with its rim.
	"USDC": {"#0e5f4a", "#37b98b", `<circle cx="64" cy="64" r="42" fill="none" stroke="#e9fff6" stroke-width="5" stroke-dasharray="3 6"/><circle cx="64" cy="64" r="33" fill="#e9fff6"/><path d="M77 52c-2-6-8-9-14-8-8 0-13 5-12 10 2 13 27 6 27 20 0 6-6 11-14 11-7 0-13-3-15-10" fill="none" stroke="#0e5f4a" stroke-width="6" stroke-linecap="round"/><path d="M64 37v54" stroke="#0e5f4a" stroke-width="6" stroke-linecap="round"/>`},
	// Mountains and their reflection in a lake.
	"LAKE": {"#8fd3ff", "#1566b0", `<path d="M8 78l30-42 17 22 13-16 52 36z" fill="#17395c"/><path d="M38 36l-12 17 7-2 5 5 6-6 6 2zM68 42l-7 9 6 1 5 4 6-3 6 3z" fill="#f4fbff"/><path d="M4 78h120v50H4z" fill="#1e8fd0"/><path d="M20 90h38M74 90h34M34 102h52M50 114h30" stroke="#d9f3ff" stroke-width="5" stroke-linecap="round"/>`},
	// An otter on its back of waves.
	"OTTER": {"#f6d7a7", "#b4703b", `<circle cx="40" cy="42" r="9" fill="#5f3a1f"/><circle cx="88" cy="42" r="9" fill="#5f3a1f"/><ellipse cx="64" cy="64" rx="35" ry="32" fill="#7a4b28"/><ellipse cx="64" cy="76" rx="22" ry="16" fill="#f3e2c7"/><circle cx="51" cy="58" r="5" fill="#20130a"/><circle cx="77" cy="58" r="5" fill="#20130a"/><ellipse cx="64" cy="70" rx="8" ry="5.5" fill="#20130a"/><path d="M64 75v6M55 85c6 3 12 3 18 0M30 72l14 4M30 82l14-1M98 72l-14 4M98 82l-14-1" fill="none" stroke="#20130a" stroke-width="3" stroke-linecap="round"/>`},
	// A dog that looks over a jetty.
	"DOCK": {"#ffe9b8", "#e08a2e", `<path d="M30 40l14-12 8 22zM98 40L84 28l-8 22z" fill="#8a4f1d"/><path d="M34 58c0-18 13-27 30-27s30 9 30 27v28H34z" fill="#c77a33"/><ellipse cx="64" cy="74" rx="17" ry="14" fill="#ffe6c4"/><circle cx="51" cy="58" r="5" fill="#2b1708"/><circle cx="77" cy="58" r="5" fill="#2b1708"/><ellipse cx="64" cy="68" rx="7" ry="5" fill="#2b1708"/><path d="M14 86h100v14H14zM26 100h12v24H26zM90 100h12v24H90z" fill="#6d4423"/><path d="M14 93h100" stroke="#4d2e15" stroke-width="3"/>`},
	// A frog with a captain's cap.
	"CFROG": {"#d8f7c5", "#3f9b4b", `<circle cx="43" cy="54" r="14" fill="#2f7d3b"/><circle cx="85" cy="54" r="14" fill="#2f7d3b"/><ellipse cx="64" cy="78" rx="40" ry="28" fill="#2f7d3b"/><circle cx="43" cy="54" r="8" fill="#fff"/><circle cx="85" cy="54" r="8" fill="#fff"/><circle cx="44" cy="55" r="4" fill="#111"/><circle cx="84" cy="55" r="4" fill="#111"/><path d="M40 82c14 12 34 12 48 0" fill="none" stroke="#123d18" stroke-width="5" stroke-linecap="round"/><path d="M34 40c2-22 58-22 60 0l-6 5H40z" fill="#f7fafc"/><path d="M32 40h64l-6 8H38z" fill="#1d2b4f"/><circle cx="64" cy="33" r="5" fill="#ffd166"/>`},
	// A crane of a harbour.
	"HRBR": {"#cfe6f5", "#2f5d86", `<path d="M40 106V30h10v76zM30 30h70v9H30zM50 60l40-21" fill="#f0a500" stroke="#f0a500" stroke-width="5"/><path d="M90 39v25" stroke="#22364d" stroke-width="4"/><path d="M78 64h24v18H78z" fill="#d1495b"/><path d="M16 104h96l-10 16H26z" fill="#22364d"/>`},
	// A sun in a jar.
	"marSOL": {"#ffd9ec", "#a93f86", `<path d="M42 30h44v12H42z" fill="#6a2154"/><path d="M38 46h52c8 10 8 48 0 58H38c-8-10-8-48 0-58z" fill="#fff" fill-opacity="0.55"/><path d="M36 68h56c2 14 0 30-4 34H40c-4-4-6-20-4-34z" fill="#f7b32b"/><circle cx="64" cy="80" r="13" fill="#fff3c4"/><path d="M64 60v5M64 95v5M44 80h5M79 80h5" stroke="#fff3c4" stroke-width="5" stroke-linecap="round"/>`},
	// A heron among reeds.
	"HERON": {"#dff3ff", "#5fa3cf", `<path d="M58 110V84M68 110V84" stroke="#e08a2e" stroke-width="4"/><path d="M38 74c10-16 34-16 44-2 4 6-4 16-20 16S32 84 38 74z" fill="#33618f"/><path d="M76 72c8-8-8-18-2-30 3-7 12-8 15-2" fill="none" stroke="#33618f" stroke-width="8" stroke-linecap="round"/><path d="M88 36l22 4-20 6z" fill="#f0a500"/><circle cx="86" cy="39" r="2.5" fill="#fff"/><path d="M22 112c2-20 0-30-4-40M34 112c0-18 4-26 8-34M104 112c0-20 4-30 8-36" fill="none" stroke="#2f7d3b" stroke-width="4" stroke-linecap="round"/>`},
	// Boards.
	"PLANK": {"#f4dcc0", "#9b6a3c", `<path d="M22 38l76-12 4 18-76 12z" fill="#b9814b"/><path d="M24 62l80-6 2 18-80 6z" fill="#8b5a2b"/><path d="M26 88h76v18H26z" fill="#c79a63"/><path d="M34 46l56-9M36 71l56-4M36 97h54" stroke="#5b3a1a" stroke-width="3" stroke-linecap="round"/><circle cx="46" cy="97" r="4" fill="#5b3a1a"/><circle cx="84" cy="65" r="4" fill="#4a2d12"/>`},
	// Rings of a sonar.
	"SONAR": {"#06262b", "#0e6b66", `<g fill="none" stroke="#5ef2c8" stroke-width="4"><circle cx="64" cy="64" r="44"/><circle cx="64" cy="64" r="29"/><circle cx="64" cy="64" r="14"/></g><path d="M64 64L98 36a44 44 0 0 1 10 28z" fill="#5ef2c8" fill-opacity="0.45"/><circle cx="64" cy="64" r="4" fill="#e8fff8"/><circle cx="82" cy="52" r="5" fill="#e8fff8"/><circle cx="46" cy="84" r="4" fill="#e8fff8"/>`},
	// Kelp.
	"KELP": {"#bdf0d6", "#157a6e", `<g fill="none" stroke="#0b4f3a" stroke-width="8" stroke-linecap="round"><path d="M64 114c-14-18 14-30 0-48s12-26 2-46M40 114c-10-14 10-24 0-38M90 114c10-14-10-26 0-40"/></g><g fill="#2fb46e"><ellipse cx="50" cy="60" rx="13" ry="6"/><ellipse cx="79" cy="46" rx="13" ry="6"/><ellipse cx="78" cy="80" rx="13" ry="6"/><ellipse cx="30" cy="84" rx="10" ry="5"/><ellipse cx="101" cy="84" rx="10" ry="5"/></g>`},
	// An anchor.
	"ANCHR": {"#24364f", "#5b84b1", `<circle cx="64" cy="32" r="10" fill="none" stroke="#f4f7fb" stroke-width="7"/><path d="M64 42v60M44 56h40M26 76c2 20 18 30 38 30s36-10 38-30M26 76l-8 10M26 76l12 6M102 76l8 10M102 76l-12 6" fill="none" stroke="#f4f7fb" stroke-width="8" stroke-linecap="round" stroke-linejoin="round"/>`},
	// Two gulls over a rising line.
	"GULL": {"#f7f4ea", "#7fb2d6", `<path d="M22 48c10-14 22-12 26 2 4-14 16-16 26-2-12-6-20 0-26 10-6-10-14-16-26-10zM68 34c7-10 16-9 19 1 3-10 12-11 19-1-9-4-15 0-19 7-4-7-10-11-19-7z" fill="#22364d"/><path d="M20 104l26-20 18 12 24-30 20 10" fill="none" stroke="#d1495b" stroke-width="7" stroke-linecap="round" stroke-linejoin="round"/>`},
	// Coral.
	"REEF": {"#ffd7c9", "#e4576b", `<g fill="none" stroke="#8d1f45" stroke-width="9" stroke-linecap="round" stroke-linejoin="round"><path d="M64 112V52M64 84L44 66V42M64 74l22-16V34M44 66L30 60M86 58l14-4M64 52l-8-16M64 52l8-14"/></g><circle cx="32" cy="96" r="6" fill="#fff"/><circle cx="98" cy="88" r="4" fill="#fff"/><circle cx="92" cy="102" r="6" fill="#fff"/>`},
	// A breaking wave.
	"WAVE": {"#e3f6ff", "#2478c4", `<path d="M8 100c22 4 30-18 32-36 3-24 24-36 46-28 16 6 22 24 12 36-8 10-24 8-28-4-3-10 6-18 14-14-14-8-30 4-28 22 2 20 28 32 68 24v28H8z" fill="#0b4f94"/><path d="M14 112c30 4 60-4 100 0" stroke="#d9f3ff" stroke-width="5" stroke-linecap="round"/>`},
	// A lighthouse.
	"LIGHT": {"#1b2a4a", "#3f5d94", `<path d="M64 40L8 22v30zM64 40l56-18v30z" fill="#ffe08a" fill-opacity="0.6"/><path d="M54 48h20l8 60H46z" fill="#f7fafc"/><path d="M52 64h24l2 14H50zM48 92h32l2 16H46z" fill="#d1495b"/><path d="M52 32h24v16H52z" fill="#ffd166"/><path d="M48 32l16-14 16 14zM32 108h64v10H32z" fill="#0f1a30"/>`},
	// Crystals of salt.
	"SALT": {"#eef3f7", "#8aa3b8", `<path d="M64 22l26 15v30L64 82 38 67V37z" fill="#fff"/><path d="M64 22l26 15-26 15-26-15z" fill="#dbe8f1"/><path d="M64 52v30L38 67V37z" fill="#b7ccdb"/><path d="M34 74l16 9v19l-16 9-16-9V83zM94 74l16 9v19l-16 9-16-9V83z" fill="#fff"/><path d="M34 92v19l-16-9V83zM94 92v19l-16-9V83z" fill="#b7ccdb"/>`},
	// A small fish.
	"MNNW": {"#fff0c9", "#f29f4b", `<path d="M20 64c14-26 52-28 70-2l22-18c-4 14-4 28 0 40L90 66C72 92 34 90 20 64z" fill="#c7522a"/><path d="M50 48c8 10 8 22 0 32" fill="none" stroke="#fff0c9" stroke-width="4"/><circle cx="37" cy="60" r="5" fill="#fff"/><circle cx="36" cy="60" r="2.5" fill="#111"/><circle cx="22" cy="36" r="5" fill="#fff"/><circle cx="34" cy="26" r="3.5" fill="#fff"/>`},
	// A pearl in its shell.
	"PEARL": {"#f3e6ff", "#7a5bb5", `<path d="M14 66c4-36 96-36 100 0l-50 10z" fill="#d9b8ff"/><path d="M64 74V38M48 73L36 45M80 73l12-28M34 70L20 58M94 70l14-12" stroke="#7a5bb5" stroke-width="4" stroke-linecap="round"/><path d="M14 74h100c-4 36-96 36-100 0z" fill="#b48ae8"/><circle cx="64" cy="76" r="16" fill="#fffaf2"/><circle cx="58" cy="70" r="5" fill="#fff"/>`},
	// Drift wood on a beach.
	"DRWD": {"#e8f1f2", "#b08968", `<path d="M4 92c30-10 90-10 120 0v36H4z" fill="#e6ccb2"/><path d="M20 86c24-2 50-10 84-30M62 74L52 50M82 66l4-26" fill="none" stroke="#7f5539" stroke-width="12" stroke-linecap="round"/><path d="M30 85c20-3 44-10 68-24" fill="none" stroke="#b08968" stroke-width="3" stroke-linecap="round"/>`},
	// Bubbles.
	"FOAM": {"#f0fbff", "#6cc4e0", `<g fill="#fff" stroke="#2a86a8" stroke-width="4"><circle cx="46" cy="74" r="24"/><circle cx="84" cy="82" r="18"/><circle cx="76" cy="46" r="15"/><circle cx="44" cy="34" r="9"/><circle cx="100" cy="54" r="7"/></g><path d="M34 64c4-6 8-8 14-8M70 38c2-2 5-3 8-3M76 74c3-3 6-4 9-4" fill="none" stroke="#9edcf0" stroke-width="4" stroke-linecap="round"/>`},
	// Barnacles.
	"BRNCL": {"#dfe6e0", "#5b7065", `<path d="M16 104l12-44c4-10 24-10 28 0l10 44zM60 104l10-58c4-12 26-12 30 0l14 58z" fill="#f2efe6"/><path d="M30 62c4-6 18-6 22 0-2 10-20 10-22 0zM73 48c4-8 20-8 24 0-2 12-22 12-24 0z" fill="#2d3a34"/><path d="M34 74l-6 28M50 74l4 28M78 64l-4 38M94 64l6 38" stroke="#b9b6a8" stroke-width="4" stroke-linecap="round"/><path d="M10 104h108v10H10z" fill="#35463d"/>`},
	// A boot.
	"BOOT": {"#e9dfd0", "#6f5a45", `<path d="M42 22h36v44c0 8 8 10 20 14 10 4 14 10 14 20H42z" fill="#3b2a1a"/><path d="M38 100h78v12H38z" fill="#17100a"/><path d="M42 34h36" stroke="#c9a27a" stroke-width="6"/><path d="M62 48h16M62 60h16M68 72l14-6" stroke="#c9a27a" stroke-width="4" stroke-linecap="round"/>`},
}

// drawMajor is the SVG of a major; ok is false for a symbol without a drawing.
func drawMajor(symbol string) (body []byte, ok bool) {
	d, ok := drawings[symbol]
	if !ok {
		return nil, false
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 128 128" width="128" height="128"><defs><linearGradient id="g" x1="0" y1="0" x2="0" y2="1">`+
		`<stop offset="0" stop-color="%s"/><stop offset="1" stop-color="%s"/></linearGradient><clipPath id="c"><circle cx="64" cy="64" r="62"/></clipPath></defs>`+
		`<g clip-path="url(#c)"><path d="M0 0h128v128H0z" fill="url(#g)"/>%s</g></svg>`, d.from, d.to, d.emblem), true
}
