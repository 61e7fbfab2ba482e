// A real GPU: memory, copies and one stream by the CUDA runtime, products by cuBLAS in float32 and
// float64 (no TF32), in an order that is the same from run to run. Compiled by nvcc alone.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <map>

#include "kernels/cuda/gpu.h"
#include "kernels/cuda/open_gpu.h"

namespace paddle::cuda {
namespace {

void check(cudaError_t e, const char* what) {
  require(e == cudaSuccess, Error::Kind::io, "the GPU failed to ", what, ": ",
          cudaGetErrorString(e));
}

void check(cublasStatus_t s, const char* what) {
  require(s == CUBLAS_STATUS_SUCCESS, Error::Kind::io, "cuBLAS failed to ", what, ": ",
          cublasGetStatusString(s));
}

int whole(int64_t n) {
  require(n <= INT32_MAX, Error::Kind::config, "a matrix has ", n,
          " rows or columns, more than cuBLAS takes");
  return static_cast<int>(n);
}

class CudaGpu : public Gpu {
 public:
  explicit CudaGpu(int index) : index_(index) {
    use();
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "make a stream");
    stream_ = stream;
    check(cublasCreate(&blas_), "start");
    check(cublasSetStream(blas_, stream), "take a stream");
    check(cublasSetMathMode(blas_, CUBLAS_DEFAULT_MATH), "set its mode");
    check(cublasSetAtomicsMode(blas_, CUBLAS_ATOMICS_NOT_ALLOWED), "set its mode");
  }
  ~CudaGpu() override {
    if (workspace_ != nullptr) cudaFree(workspace_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream());
  }

  std::string name() const override {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index_), "say its name");
    return properties.name;
  }

  void* allocate(size_t bytes) override {
    use();
    void* memory = nullptr;
    const cudaError_t e = cudaMalloc(&memory, bytes);
    if (e == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // is not an error of what comes next
      size_t free = 0, all = 0;
      check(cudaMemGetInfo(&free, &all), "say how much memory it has");
      throw Error(Error::Kind::config, "GPU ", index_, " has not enough memory for ", bytes,
                  " bytes: ", free, " of ", all,
                  " bytes are free; take a smaller batch or end other programs");
    }
    check(e, "allocate memory");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFree(memory); }

  void upload(void* to, const void* from, size_t bytes) override {
    use();
    count_upload(bytes);
    // Of pageable memory the call returns when `from` has been read.
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "take a copy");
    if (pinned_.count(const_cast<void*>(from)) > 0) wait();
  }
  void download(void* to, const void* from, size_t bytes) override {
    use();
    count_download(bytes);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "give a copy");
    wait();
  }
  void copy(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "copy");
  }
  // What cannot be pinned is copied through memory of the driver.
  void pin(void* memory, size_t bytes) noexcept override {
    cudaSetDevice(index_);
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess)
      pinned_[memory] = bytes;
    else
      cudaGetLastError();  // is not an error of what comes next
    work.pinned += pinned_.count(memory) > 0 ? bytes : 0;
  }
  void unpin(void* memory) noexcept override {
    const auto at = pinned_.find(memory);
    if (at == pinned_.end()) return;
    cudaSetDevice(index_);
    cudaStreamSynchronize(stream());
    cudaHostUnregister(memory);
    work.pinned -= at->second;
    pinned_.erase(at);
  }
  void wait() override { check(cudaStreamSynchronize(stream()), "finish"); }
  // Each thread has a device of its own that its launches go to.
  void running(const char*) noexcept override { cudaSetDevice(index_); }

  // cuBLAS stores by columns: the product of the transposes is the transpose of the product.
  void multiply(const Device&, const Product<float>& p) override {
    check(cublasSgemm(blas_, op(p.trans_b), op(p.trans_a), whole(p.n), whole(p.m), whole(p.k),
                      &p.alpha, p.b, whole(p.ldb), p.a, whole(p.lda), &p.beta, p.c, whole(p.ldc)),
          "multiply");
  }
  void multiply(const Device&, const Product<double>& p) override {
    check(cublasDgemm(blas_, op(p.trans_b), op(p.trans_a), whole(p.n), whole(p.m), whole(p.k),
                      &p.alpha, p.b, whole(p.ldb), p.a, whole(p.lda), &p.beta, p.c, whole(p.ldc)),
          "multiply");
  }

 private:
  void use() const { check(cudaSetDevice(index_), "start"); }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_); }
  static cublasOperation_t op(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

  int index_;
  cublasHandle_t blas_ = nullptr;
  std::map<void*, size_t> pinned_;
};

}  // namespace

int count_gpus(std::string& why) {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e == cudaSuccess && count > 0) return count;
  if (e == cudaErrorInsufficientDriver)  // also where there is none
    why = text("no driver of an NVIDIA GPU is loaded that knows CUDA ", CUDART_VERSION / 1000, ".",
               CUDART_VERSION % 1000 / 10);
  else
    why = e == cudaSuccess || e == cudaErrorNoDevice ? "this machine has none"
                                                     : cudaGetErrorString(e);
  return 0;
}

std::shared_ptr<Accelerator> open_gpu(int index, const HostProducts&) {
  std::string why;
  const int count = count_gpus(why);
  require(index >= 0 && index < count, Error::Kind::config, "there is no GPU ", index, ": ",
          count == 0 ? why : text("their numbers are 0 to ", count - 1));
  return std::make_shared<CudaGpu>(index);
}

}  // namespace paddle::cuda
