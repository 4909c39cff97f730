module example.com/gpu-operator

go 1.24
