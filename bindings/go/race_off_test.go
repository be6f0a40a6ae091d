//go:build !race

package tensorrt

const raceEnabled = false
