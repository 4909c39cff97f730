module example.com/ocm-controller

go 1.24
