/* Built by install.sh outside of the tree against the installed library. */
#include <stdio.h>
#include <tensorrt/autograd.h>
#include <tensorrt/ops.h>
#include <tensorrt/tensor.h>

int main(void) {
  const float data[4] = {1, 2, 3, 4};
  const int64_t sizes[2] = {2, 2};
  trt_tensor *x = NULL, *y = NULL, *total = NULL, *grad = NULL;
  double sum = 0;
  float g[4];
  trt_status* s = trt_tensor_from_data(data, sizes, 2, TRT_FLOAT32, &x);
  if (!s) s = trt_tensor_set_requires_grad(x, true);
  if (!s) s = trt_mul(x, x, &y);
  if (!s) s = trt_sum(y, NULL, 0, false, TRT_DTYPE_NONE, &total);
  if (!s) s = trt_tensor_backward(total);
  if (!s) s = trt_tensor_grad(x, &grad);
  if (!s) s = trt_tensor_item_double(total, &sum);
  if (!s) s = trt_tensor_copy_to_host(grad, g, TRT_FLOAT32, 4);
  if (s) {
    printf("%s: %s\n", trt_code_name(trt_status_code(s)), trt_status_message(s));
    trt_status_release(s);
    return 1;
  }
  trt_tensor_release(grad);
  trt_tensor_release(total);
  trt_tensor_release(y);
  trt_tensor_release(x);
  return sum == 30 && g[0] == 2 && g[3] == 8 ? 0 : 1;
}
