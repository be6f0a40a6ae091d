module tensorrt

go 1.19
