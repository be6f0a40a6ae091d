//go:build race

package tensorrt

const raceEnabled = true
